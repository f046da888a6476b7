-- The library's chats: start, commands, events. One listener per chat, on the main loop.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local clock = lazy("claude-ide.base.clock")
local config = lazy("claude-ide.config")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local slice = lazy("claude-ide.base.slice")
local wake = lazy("claude-ide.library.wake")

local M = {}

---An event; its fields depend on the type: see `crates/agent/src/event.rs`.
---@class claude-ide.chat.Event
---@field type string
---@field by? string the call whose subagent speaks; nil: the agent itself
---@field pid? integer started
---@field can? { list: boolean, fork: boolean, close: boolean, embeds: boolean } greeted
---@field is_kept? boolean session
---@field settings? claude-ide.chat.Setting[] settings
---@field commands? { name: string, description: string }[] commands
---@field brief? string account
---@field full? string account
---@field title? string title
---@field calls? boolean said: with a tool call
---@field id? string prompt: the prompt; session; task_started, task_ended
---@field results? { [1]: string, [2]: claude-ide.sessions.ToolResult }[] results
---@field places? string[] results: files that the calls may have changed
---@field request? string before_edit, asks, withdrawn
---@field paths? string[] before_edit
---@field ask? claude-ide.chat.Ask asks
---@field state? "queued"|"started"|"completed"|"cancelled" prompt
---@field at? integer prompt: time of the report, in milliseconds since the epoch
---@field outcome? "done"|"aborted"|"failed" turn
---@field cost? number usage: dollars
---@field window? integer usage
---@field resets? integer limit
---@field delay? integer retry: milliseconds
---@field doing? string doing
---@field call? string before_edit, located
---@field location? claude-ide.sessions.Location located: where the call is
---@field session? string reset
---@field reason? string sign_in
---@field methods? claude-ide.chat.SignInMethod[] sign_in
---@field number? integer answer
---@field files? string[] answer to `find_files`
---@field rewound? claude-ide.chat.Rewound answer to `rewind`
---@field sessions? { id: string, title?: string, updated?: string }[] answer to `list_sessions`
---@field error? string answer
---@field code? integer ended
---@field signal? integer ended
---@field words? string ended, turn, limit, retry, task_started

---The program to run.
---@class claude-ide.chat.Program
---@field argv string[]
---@field cwd string
---@field env table<string, string>

---@class claude-ide.chat.transport.Opts
---@field program claude-ide.chat.Program
---@field backend "stream_json"|table `{ acp = … }`, see `crates/agent/src/acp/mod.rs`
---@field speaker string what the user calls the agent
---@field transcript integer its events enter it
---@field take_in fun(event: claude-ide.chat.Event)
---@field taken_in fun() after some events: no more for now, or time for keys and the screen

---@type table<integer, claude-ide.chat.transport.Opts>
local listeners = {}
---Chats whose events are taken in slices.
---@type table<integer, true>
local going_on = {}

---Pause after a slice: an answer that streams fills each.
local PAUSE_MS = 5

---@param number integer
local function take(number)
  local listener, event = listeners[number], nil ---@type claude-ide.chat.transport.Opts?, claude-ide.chat.Event?
  going_on[number] = nil
  if not listener then
    return
  end
  local is_over = slice.begin()
  repeat
    event = native.agent_next(number, clock.now())
    if event then
      listener.take_in(event)
    end
  until not event or is_over()
  listener.taken_in()
  if event then
    going_on[number] = true
    slice.later(function()
      take(number)
    end, PAUSE_MS)
  end
end

---@param news { id: integer }
local function receive(news)
  if not going_on[news.id] then
    take(news.id)
  end
end

---Starts a chat without waiting: an `ended` event reports a program that cannot be run.
---@param opts claude-ide.chat.transport.Opts
---@return integer? number the chat's id
---@return string? err
function M.open(opts)
  local program = opts.program
  local options = {
    program = {
      argv = program.argv,
      cwd = program.cwd,
      env = next(program.env) and program.env or vim.empty_dict(),
    },
    backend = opts.backend,
    speaker = opts.speaker,
    transcript = opts.transcript,
    log = { path = log.path(), level = config.get().log.level },
  }
  local ok, json = pcall(vim.json.encode, options)
  if not ok then
    return nil, tostring(json)
  end
  local number, err = native.agent_open(json, wake.handle())
  if number then
    listeners[number] = opts
    at_exit("chats", function()
      listeners = {}
      native.agents_stop()
    end)
  end
  return number, err
end

---Sends a command to a chat.
---@param number integer
---@param command table|string one field, named after the command: see `crates/agent/src/command.rs`
---@return boolean? sent
---@return string? err
function M.send(number, command)
  local ok, json = pcall(vim.json.encode, command)
  if not ok then
    return nil, tostring(json)
  end
  return native.agent_command(number, json)
end

---Ends a chat. Its last events are still delivered.
---@param number integer
function M.close(number)
  native.agent_close(number)
end

---Ends a chat without its last events.
---@param number integer
function M.drop(number)
  listeners[number] = nil
  M.close(number)
end

require("claude-ide.library.wake").on({ "chat_news" }, receive)

return M
