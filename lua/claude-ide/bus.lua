-- The event bus of the plugin: who emits an event need not know its handlers. Other people's configurations get `User` autocommands
-- (event.lua).
local M = {}

---@alias claude-ide.bus.Topic
---| "server_starting" # fun(info: claude-ide.server.Info): it runs; features begin to work
---| "server_started" # fun(info: claude-ide.server.Info)
---| "server_stopping" # fun(): answers given now still reach their clients
---| "server_stopped" # fun()
---| "client_connected" # fun(client: claude-ide.Client)
---| "client_ready" # fun(client: claude-ide.Client)
---| "client_listening" # fun(client: claude-ide.Client): it takes notifications (listening.lua)
---| "client_changed" # fun(client: claude-ide.Client)
---| "client_disconnected" # fun(client: claude-ide.Client, reason?: string)
---| "agent_ready" # fun(client: claude-ide.Client): it may call the tools of the `nvim` endpoint
---| "agent_disconnected" # fun(client: claude-ide.Client, reason?: string)
---| "abilities_changed" # fun(): a tool can run now that could not before, or no longer can
---| "decisions_changed" # fun(): others wait for the user than before
---| "journal_changed" # fun(): a moment later, once for many changes
---| "turn_forgotten" # fun(turn: integer): what is known of it is no longer needed
---| "terminal_ended" # fun(): a CLI that `:Claude` started has
---| "session_changed" # fun(change: claude-ide.sessions.LiveChange)
---| "session_renamed" # fun(id: string)
---| "transcript_wanted" # fun(wanted: claude-ide.transcript.Wanted, opts?: claude-ide.transcript.OpenOpts)
---| "kernels_changed" # fun(): one starts, runs, waits or ends
---| "sessions_changed" # fun(): what the sessions of this Neovim do is known anew

---@type table<claude-ide.bus.Topic, fun(...)[]>
local handlers = {}

---Calls a function each time, until the returned function is called.
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

---Calls the handlers, in the order in which they were added. One that fails is logged; the next is called all the same.
---@param topic claude-ide.bus.Topic
---@param ... any
function M.emit(topic, ...)
  -- A copy: a handler may unsubscribe while it runs.
  for _, handler in ipairs(vim.list_slice(handlers[topic] or {})) do
    local ok, trace = xpcall(handler, debug.traceback, ...)
    if not ok then
      require("claude-ide.log").error("a handler of %s failed: %s", topic, trace)
    end
  end
end

return M
