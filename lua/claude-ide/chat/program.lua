-- The CLI's command line for a chat: the terminal's command, made headless.
-- Source: CLI 2.1.329, `--help` and observation. Without `--input-format stream-json` it takes "stdio" as the name of a tool.
local lazy = require("claude-ide.lazy")
local agent_tools = lazy("claude-ide.terminal.agent_tools")
local config = lazy("claude-ide.config")
local environment = lazy("claude-ide.terminal.environment")
local log = lazy("claude-ide.base.log")
local permission_mode = lazy("claude-ide.terminal.permission_mode")
local server = lazy("claude-ide.server")
local terminal_hooks = lazy("claude-ide.terminal.hooks")

local M = {}

local FLAGS = {
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--verbose",
  "--include-partial-messages",
  "--permission-prompt-tool",
  "stdio",
}

---A random UUID, version 4.
---@return string
function M.uuid()
  local bytes = { assert(vim.uv.random(16)):byte(1, 16) } ---@type table<integer, integer>
  bytes[7] = bytes[7] % 16 + 64
  bytes[9] = bytes[9] % 64 + 128
  return (
    ("%02x")
      :rep(16)
      :format(unpack(bytes))
      :gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)", "%1-%2-%3-%4-")
  )
end

---Starts the server, which has the editor's tools and the watch on files: a chat works without it, too.
function M.start_server()
  local _, problem = server.start()
  if problem then
    log.warn("a chat has no tools of the editor: %s", problem)
  end
end

---@param own? table<string, string> variables of the agent's own
---@return table<string, string>
function M.environment(own)
  local env = environment.of(nil, vim.fn.environ())
  env.ENABLE_IDE_INTEGRATION = nil
  return vim.tbl_extend("force", env, own or {})
end

---@class claude-ide.chat.ProgramOpts
---@field session string its id, or the new one
---@field resume? string session to resume
---@field fork? boolean resume a copy of it
---@field cwd? string folder; default: from the options
---@field config_dir? string of the session that is resumed
---@field args? string[] more arguments for the CLI
---@field alone? boolean without the editor's tools

---@param opts claude-ide.chat.ProgramOpts
---@param run? string its name for the editor's tools
---@return claude-ide.chat.Program? program
---@return string? why it cannot run
function M.of(opts, run)
  local options = config.get().terminal
  local cwd, why = environment.check(opts.cwd)
  if not cwd then
    return nil, why
  end
  local argv = vim.list_extend(vim.deepcopy(options.command), FLAGS)
  if opts.resume then
    vim.list_extend(argv, { "--resume", opts.resume })
  end
  if opts.fork then
    argv[#argv + 1] = "--fork-session"
  end
  if not opts.resume or opts.fork then
    vim.list_extend(argv, { "--session-id", opts.session })
  end
  local args, hooks = opts.args or {}, nil
  vim.list_extend(argv, permission_mode.of(argv, args))
  argv, hooks, args = terminal_hooks.of(argv, args, cwd, true)
  vim.list_extend(vim.list_extend(argv, hooks), args)
  if not opts.alone then
    M.start_server()
    vim.list_extend(argv, agent_tools.of(run))
  end
  local env = vim.tbl_extend("keep", options.env, { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING = "1" })
  return { argv = environment.in_config_dir(argv, opts.config_dir), cwd = cwd, env = M.environment(env) }
end

---What differs from one kind of agent to another: how it is run, and what it does with what all kinds report.
---@class claude-ide.chat.Driver
---@field overwrites? boolean it writes a file whatever has become of it since it read it
---@field check fun(begin: claude-ide.chat.Begin): string?, string? the folder, or why it cannot run
---@field begin fun(chat: claude-ide.chat.Chat, begin: claude-ide.chat.Begin)
---@field program fun(chat: claude-ide.chat.Chat, opts: claude-ide.chat.ProgramOpts): claude-ide.chat.Program?, "stream_json"|table|nil, string? the program and its backend in the library, or why it cannot run
---@field session? fun(chat: claude-ide.chat.Chat) one began
---@field results? fun(chat: claude-ide.chat.Chat, results: { [1]: string, [2]: claude-ide.sessions.ToolResult }[]) before they are shown
---@field turn_over? fun(chat: claude-ide.chat.Chat)
---@field close? fun(chat: claude-ide.chat.Chat, close: fun())
---@field ended? fun(chat: claude-ide.chat.Chat)

---The CLI itself.
---@type claude-ide.chat.Driver
M.driver = {
  check = function(begin)
    return environment.check(begin.cwd)
  end,
  begin = function(chat)
    chat.name, chat.keeper = "Claude", "claude"
    chat.can = { terminal = true, rewind = true, tasks = true, find_files = true }
  end,
  program = function(chat, opts)
    local program, why = M.of(opts, chat.run)
    return program, "stream_json", why
  end,
}

return M
