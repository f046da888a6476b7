-- What a CLI that we start is told of the editor's tools: an MCP server named `nvim`, beside those that the person has.
-- Source: the CLI 2.1.330. `--mcp-config` adds to what the configuration files have, also where it is given more than once, and
-- `${NAME}` in a header is read from the CLI's environment.
-- Invariant: the token stands in no command line, where other users of the machine could read it.
local M = {}

local NAME = "nvim"
local VARIABLE = "CLAUDE_IDE_NVIM_TOKEN"

---@param access { url: string, token: string }
---@param token string what stands for the token
---@param run? string
---@return string json
local function config(access, token, run)
  return vim.json.encode({
    mcpServers = {
      [NAME] = {
        type = "ws",
        url = "ws://" .. access.url,
        headers = { Authorization = "Bearer " .. token, ["X-Claude-Ide-Run"] = run },
      },
    },
  })
end

---A file that only this user can read and that goes with this Neovim.
---@param json string
---@return string? path
local function private_file(json)
  local path = vim.fn.tempname() .. ".json"
  return require("claude-ide.file").write_private(path, json, true) and path or nil
end

---The arguments and the variables that hand the tools to a CLI; none where there are no tools.
---@param by_file boolean the environment does not reach the CLI
---@param run? string by what name its session is found: `sessions.ours.of_caller`
---@return string[] argv
---@return table<string, string> env
function M.of(by_file, run)
  local access = require("claude-ide.server").agent_access()
  if not access then
    return {}, {}
  end
  -- With `=`: the flag takes all words that follow it otherwise, a prompt too.
  if by_file then
    local path = private_file(config(access, access.token, run))
    return path and { "--mcp-config=" .. path } or {}, {}
  end
  return { "--mcp-config=" .. config(access, ("${%s}"):format(VARIABLE), run) }, { [VARIABLE] = access.token }
end

return M
