-- Chats in the library: begin one, tell it what the user wants, hear what it tells. One listener a chat, on the main loop.
local M = {}

local GROUP = "claude-ide.chat"

---One thing that a chat tells; which fields are there depends on the type. See `crates/agent/src/told.rs`.
---@class claude-ide.chat.Told
---@field type "started"|"ready"|"session"|"begins"|"text"|"calling"|"void"|"said"|"results"|"before_edit"|"asks"|"withdrawn"|"prompt"|"turn"|"answer"|"status"|"ended"
---@field by? { call?: string } who speaks: the agent, or the subagent of a call
---@field pid? integer started
---@field about? table ready, session, turn, status: the agent's own words
---@field subject? string status
---@field model? string begins, said
---@field block? integer text: which of the blocks of all replies
---@field kind? "text"|"thinking"|"reply"|"prompt"|"output"|"meta" text, said
---@field text? string text
---@field id? string calling: the call; prompt: the prompt
---@field name? string calling: the tool
---@field uuid? string said
---@field blocks? claude-ide.sessions.Block[] said
---@field usage? claude-ide.sessions.Usage said
---@field results? { [1]: string, [2]: claude-ide.sessions.ToolResult }[] results
---@field places? string[] said, results: files that the calls may change, or have changed
---@field request? string before_edit, asks, withdrawn
---@field path? string before_edit
---@field ask? table asks: the agent's own words
---@field state? "queued"|"started"|"completed"|"cancelled" prompt
---@field at? integer prompt: when the agent said so, in milliseconds since the epoch
---@field number? integer answer
---@field result? any answer
---@field error? string answer
---@field code? integer ended
---@field signal? integer ended
---@field words? string ended

---What is run.
---@class claude-ide.chat.Program
---@field argv string[]
---@field cwd string
---@field env table<string, string>

---@type table<integer, fun(told: claude-ide.chat.Told[])>
local listeners = {}

local function stop_at_exit()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude Code: end the chats",
    callback = function()
      listeners = {}
      require("claude-ide.native").agents_stop()
    end,
  })
end

---@param event { id: integer, told: claude-ide.chat.Told[] }
local function receive(event)
  local listener = listeners[event.id]
  if listener then
    listener(event.told)
  end
end

---Begins a chat. Nothing waits: that its program cannot be run is told by `ended`.
---@param program claude-ide.chat.Program
---@param backend "stream_json"|table `{ acp = … }`, see `crates/agent/src/acp/mod.rs`
---@param listener fun(told: claude-ide.chat.Told[])
---@return integer? number that names it
---@return string? err
function M.open(program, backend, listener)
  local log = require("claude-ide.log")
  local options = {
    program = {
      argv = program.argv,
      cwd = program.cwd,
      env = next(program.env) and program.env or vim.empty_dict(),
    },
    backend = backend,
    log = { path = log.path(), level = require("claude-ide.config").get().log.level },
  }
  local ok, json = pcall(vim.json.encode, options)
  if not ok then
    return nil, tostring(json)
  end
  local number, err = require("claude-ide.native").agent_open(json, require("claude-ide.wake").handle())
  if number then
    listeners[number] = listener
    stop_at_exit()
  end
  return number, err
end

---Tells a chat what the user wants.
---@param number integer
---@param command table|string one field, named after the command: see `crates/agent/src/command.rs`
---@return boolean? sent
---@return string? err
function M.send(number, command)
  local ok, json = pcall(vim.json.encode, command)
  if not ok then
    return nil, tostring(json)
  end
  return require("claude-ide.native").agent_command(number, json)
end

---Ends a chat. Its last words are still told.
---@param number integer
function M.close(number)
  require("claude-ide.native").agent_close(number)
end

---Nothing more is told of a chat.
---@param number integer
function M.forget(number)
  listeners[number] = nil
end

require("claude-ide.wake").on({ "chat_news" }, receive)

return M
