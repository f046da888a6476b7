-- Environment variables by which a CLI finds the Neovim that started it.
-- Source: the CLI 2.1.329. It connects to the lock file whose port equals CLAUDE_CODE_SSE_PORT, whatever the file's folders;
-- ENABLE_IDE_INTEGRATION enables the search; a proxy without an exception for loopback would intercept the connection.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local path = lazy("claude-ide.base.path")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local LOOPBACK = { "localhost", "127.0.0.1" }

---Adds loopback to the proxy exceptions.
---@param present string? e.g. ".corp.example,10.0.0.0/8"
---@return string
local function no_proxy(present)
  local hosts = vim.split(present or "", "%s*,%s*", { trimempty = true })
  for _, host in ipairs(LOOPBACK) do
    if not vim.tbl_contains(hosts, host) then
      hosts[#hosts + 1] = host
    end
  end
  return table.concat(hosts, ",")
end

---@param port? integer of our server; nil: not running
---@param inherited table<string, string> variables that the CLI inherits
---@return table<string, string>
function M.of(port, inherited)
  local exceptions = inherited.NO_PROXY or inherited.no_proxy
  local environment = {
    ENABLE_IDE_INTEGRATION = "true",
    NO_PROXY = no_proxy(exceptions),
    no_proxy = no_proxy(inherited.no_proxy or exceptions),
  }
  if port then
    environment.CLAUDE_CODE_SSE_PORT = tostring(port)
  end
  return environment
end

---The CLI's command, in the configuration folder that has a session. The default one is not named: the CLI would look for the account
---elsewhere (2.1.332: for `.claude.json` in the folder instead of beside it).
---@param argv string[]
---@param dir? string nil: whichever the CLI takes
---@return string[]
function M.in_config_dir(argv, dir)
  local given = config.get().terminal.env.CLAUDE_CONFIG_DIR or vim.env.CLAUDE_CONFIG_DIR or ""
  local default = path.normalize((vim.uv.os_homedir() or "/") .. "/.claude")
  if not dir or dir == (given ~= "" and path.normalize(given) or default) then
    return argv
  end
  local words = dir == default and { "env", "-u", "CLAUDE_CONFIG_DIR" }
    or { "env", "CLAUDE_CONFIG_DIR=" .. dir }
  return vim.list_extend(words, argv)
end

---An agent's working directory.
---@param chosen? string
---@return string
function M.folder(chosen)
  if chosen then
    return vim.fs.normalize(chosen, { expand_env = false })
  end
  local wanted = config.get().terminal.cwd
  if type(wanted) == "function" then
    wanted = wanted()
  end
  return type(wanted) == "string" and vim.fs.normalize(wanted) or workspace.folders()[1]
end

---Checks that the program and the folder exist.
---@param chosen? string
---@return string? cwd
---@return string? why it cannot run
function M.check(chosen)
  local program = config.get().terminal.command[1]
  if vim.fn.executable(program) == 0 then
    return nil, ("`%s` was not found: see `:checkhealth claude-ide`."):format(program)
  end
  local cwd = M.folder(chosen)
  if vim.fn.isdirectory(cwd) == 0 then
    return nil, ("The folder %s does not exist; see terminal.cwd."):format(cwd)
  end
  return cwd
end

return M
