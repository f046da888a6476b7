-- What happens in the plugin, told to whoever wants to know it: so that those who tell need not know who listens.
-- For other people's configurations there are `User` autocommands (event.lua).
local M = {}

---@alias claude-ide.hub.Topic
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
---| "sessions_told" # fun(): what the sessions of this Neovim do is known anew

---@type table<claude-ide.hub.Topic, fun(...)[]>
local subscribers = {}

---Calls a function each time, until the returned function is called.
---@param topic claude-ide.hub.Topic
---@param fn fun(...)
---@return fun() unsubscribe
function M.on(topic, fn)
  local list = subscribers[topic] or {}
  subscribers[topic] = list
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

---Tells all who listen now, in the order in which they came. One that fails keeps nobody else from being told.
---@param topic claude-ide.hub.Topic
---@param ... any
function M.tell(topic, ...)
  -- A copy: a subscriber may unsubscribe while it is told.
  for _, subscriber in ipairs(vim.list_slice(subscribers[topic] or {})) do
    local ok, trace = xpcall(subscriber, debug.traceback, ...)
    if not ok then
      require("claude-ide.log").error("a subscriber to %s failed: %s", topic, trace)
    end
  end
end

return M
