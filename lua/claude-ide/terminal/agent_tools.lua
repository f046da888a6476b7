-- Passes the editor's tools to a CLI that we start, as an MCP server named `nvim` in addition to the user's servers.
-- Source: the CLI 2.1.329. `--mcp-config` adds to the configuration files, also when repeated. It takes a file, read at startup.
-- Invariant: the token is in no command line, which other users of the machine can read, and in no environment, which all commands of
-- the model inherit.
local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local ide_server = lazy("claude-ide.server")

local M = {}

local NAME = "nvim"

---The CLI's arguments for the tools; none if there are no tools.
---@param run? string name of the CLI, see `sessions.ours.of_caller`
---@return string[] argv
function M.of(run)
  local access = ide_server.agent_access(run)
  if not access then
    return {}
  end
  local server = {
    type = "ws",
    url = "ws://" .. access.url,
    headers = { Authorization = "Bearer " .. access.token },
  }
  local config = vim.json.encode({ mcpServers = { [NAME] = server } })
  local path = file.private(".json", config)
  -- With `=`: otherwise the flag consumes all following words, including the prompt.
  return path and { "--mcp-config=" .. path } or {}
end

return M
