-- What a CLI that we start is told of the editor's tools: an MCP server named `nvim`, beside those that the user has.
-- Source: the CLI 2.1.329. `--mcp-config` adds to what the configuration files have, also where it is given more than once. It
-- takes a file, which the CLI reads when it starts.
-- Invariant: the token stands in no command line, where other users of the machine could read it, and in no environment, which
-- every command of the model inherits.
local M = {}

local NAME = "nvim"

---The arguments that hand the tools to a CLI; none where there are no tools.
---@param run? string by what name its session is found: `sessions.ours.of_caller`
---@return string[] argv
function M.of(run)
  local access = require("claude-ide.server").agent_access(run)
  if not access then
    return {}
  end
  local server = {
    type = "ws",
    url = "ws://" .. access.url,
    headers = { Authorization = "Bearer " .. access.token },
  }
  local config = vim.json.encode({ mcpServers = { [NAME] = server } })
  local path = require("claude-ide.file").private(".json", config)
  -- With `=`: the flag takes all words that follow it otherwise, a prompt too.
  return path and { "--mcp-config=" .. path } or {}
end

return M
