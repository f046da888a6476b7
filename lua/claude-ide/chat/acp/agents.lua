-- Agents besides the CLI: those of the option `agents`, and built-in ones.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local environment = lazy("claude-ide.terminal.environment")

local M = {}

---An agent of the option `agents`.
---@class claude-ide.config.Agent
---@field cmd string[] program and arguments
---@field env? table<string, string> variables added to Neovim's
---@field name? string your name for it

---@class claude-ide.chat.acp.Agent : claude-ide.config.Agent
---@field key string its name in the option
---@field name string
---@field hint? string installation command

---@type table<string, { name: string, cmds: string[][], hint: string }> the current command first, then earlier names
local KNOWN = {
  claude = {
    name = "Claude",
    cmds = { { "claude-agent-acp" }, { "claude-code-acp" } },
    hint = "npm install -g @agentclientprotocol/claude-agent-acp",
  },
  gemini = {
    name = "Gemini",
    cmds = { { "gemini", "--acp" } },
    hint = "npm install -g @google/gemini-cli",
  },
  codex = {
    name = "Codex",
    cmds = { { "codex-acp" } },
    hint = "npm install -g @agentclientprotocol/codex-acp",
  },
  opencode = {
    name = "OpenCode",
    cmds = { { "opencode", "acp" } },
    hint = "npm install -g opencode-ai",
  },
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(vim.tbl_extend("force", KNOWN, config.get().agents))
  table.sort(names)
  return names
end

---@return string[] names for the user
function M.spoken_names()
  local own = config.get().agents
  return vim.tbl_map(function(name)
    return own[name] and own[name].name or KNOWN[name] and KNOWN[name].name or name
  end, M.names())
end

local function first_there(cmds)
  for _, cmd in ipairs(cmds) do
    if vim.fn.executable(cmd[1]) == 1 then
      return cmd
    end
  end
  return cmds[1] --[[@as string[] ]]
end

---@param name string
---@return claude-ide.chat.acp.Agent? agent
---@return string? err
function M.get(name)
  local known, own = KNOWN[name], config.get().agents[name]
  if not known and not own then
    return nil, ("There is no agent `%s`: expected %s."):format(name, table.concat(M.names(), ", "))
  end
  own = own or {}
  local cmd = own.cmd or known and first_there(known.cmds)
  if not cmd then
    return nil, ("The agent `%s` has no command: set `agents.%s.cmd`."):format(name, name)
  end
  return {
    key = name,
    name = own.name or known and known.name or name,
    cmd = cmd,
    env = own.env,
    hint = known and known.hint,
  }
end

---Checks that the program and the folder exist.
---@param agent claude-ide.chat.acp.Agent
---@param chosen? string
---@return string? cwd
---@return string? why it cannot run
function M.check(agent, chosen)
  local cwd = environment.folder(chosen)
  if vim.fn.executable(agent.cmd[1]) == 0 then
    local hint = agent.hint and (" Install it (`%s`), or set `agents.%s.cmd`."):format(agent.hint, agent.key)
      or ""
    return nil, ("`%s` was not found.%s"):format(agent.cmd[1], hint)
  elseif vim.fn.isdirectory(cwd) == 0 then
    return nil, ("The folder %s does not exist."):format(cwd)
  end
  return cwd
end

return M
