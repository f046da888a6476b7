-- The plugin's event bus. Events for users' configurations are `User` autocommands (config/event.lua).
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")

local M = {}

---@alias claude-ide.bus.Topic
---| "server_starting" # fun(info: claude-ide.server.Info): it runs; features start
---| "server_started" # fun(info: claude-ide.server.Info)
---| "server_stopping" # fun(): answers still reach their clients
---| "server_stopped" # fun()
---| "client_connected" # fun(client: claude-ide.Client)
---| "client_ready" # fun(client: claude-ide.Client)
---| "client_listening" # fun(client: claude-ide.Client): it handles notifications (server/listening.lua)
---| "client_changed" # fun(client: claude-ide.Client)
---| "client_disconnected" # fun(client: claude-ide.Client, reason?: string)
---| "agent_ready" # fun(client: claude-ide.Client): a client of another endpoint than `ide`
---| "agent_changed" # fun(client: claude-ide.Client): it told more of itself
---| "agent_disconnected" # fun(client: claude-ide.Client, reason?: string)
---| "mod_connected" # fun(client: claude-ide.Client): our mod in a CLI (terminal/bridge.lua)
---| "mod_disconnected" # fun(client: claude-ide.Client)
---| "call_located" # fun(client: integer, call: claude-ide.follow.Located): an agent of a chat tells where a call is
---| "call_reported" # fun(client: integer, call: claude-ide.terminal.Report): our mod tells what a call of a CLI did
---| "selection_changed" # fun(latest?: claude-ide.selection.Message): as sent to the clients; nil: withdrawn
---| "privacy_changed" # fun(buf: integer): `b:claude_private` of a watched buffer was set
---| "abilities_changed" # fun(): the available tools or resources may have changed
---| "requests_changed" # fun(ended?: claude-ide.Request): the requests that wait for the user have changed
---| "journal_changed" # fun(): debounced
---| "conflict_over" # fun(buf: integer): its text and the file's change on disk are reconciled, or will be in this turn of the event loop
---| "file_changed" # fun(path: string): Claude changed it
---| "file_renamed" # fun(from: string, to: string): the user has renamed a file with changes of Claude's
---| "turn_ended" # fun(turn: claude-ide.journal.Turn) its changes are known
---| "turn_forgotten" # fun(turn: integer): its data is no longer needed
---| "session_changed" # fun(change: claude-ide.sessions.LiveChange)
---| "mode_changed" # fun(): the permission mode of a session became known, or has changed
---| "session_left" # fun(id: string, since: integer): an earlier Neovim handed it over to the background; milliseconds since the epoch
---| "session_stopped" # fun(id: string): the user interrupts its turn
---| "comments_changed" # fun(root: string): the threads of a worktree
---| "comment_opened" # fun(buf: integer): the user writes one
---| "comment_closed" # fun(): the window in which the user wrote it has gone
---| "comments_to_send" # fun(): the user sends what is written
---| "outbox_changed" # fun(): what waits to be said to sessions has changed
---| "session_renamed" # fun(id: string)
---| "transcript_wanted" # fun(wanted: claude-ide.transcript.Wanted, opts?: claude-ide.transcript.OpenOpts)
---| "transcript_grew" # fun(client: integer): that of a client's session or of a subagent
---| "calls_ended" # fun(client: integer, calls: claude-ide.sessions.EndedCall[], reading: claude-ide.sessions.Reading): in a transcript of the client's; each call once
---| "limit_changed" # fun(): a session was told how near the account's usage limit is
---| "hooks_given" # fun(): the first CLI gets the hooks of terminal/hook_folder.lua
---| "terminal_opens" # fun(): one is about to be shown, and others make room
---| "drawn_again" # fun(buf: integer): one of our buffers, at `:edit`
---| "terminal_used" # fun(): one was entered, shown or hidden
---| "sessions_changed" # fun(): states of this Neovim's sessions were updated

---@type table<claude-ide.bus.Topic, fun(...)[]>
local handlers = {}

---Subscribes a function until the returned function is called.
---@param topic claude-ide.bus.Topic
---@param fn fun(...)
---@return fun() unsubscribe
function M.on(topic, fn)
  local list = handlers[topic] or {}
  handlers[topic] = list
  local function entry(...)
    return fn(...)
  end
  list[#list + 1] = entry
  return function()
    for index, other in ipairs(list) do
      if other == entry then
        table.remove(list, index)
        return
      end
    end
  end
end

---Calls the handlers in order of subscription. A failing one is logged, and the next is called.
---@param topic claude-ide.bus.Topic
---@param ... any
function M.emit(topic, ...)
  -- A copy: a handler may unsubscribe during the call.
  for _, handler in ipairs(vim.list_slice(handlers[topic] or {})) do
    local ok, trace = xpcall(handler, debug.traceback, ...)
    if not ok then
      log.error("a handler of %s failed: %s", topic, trace)
    end
  end
end

return M
