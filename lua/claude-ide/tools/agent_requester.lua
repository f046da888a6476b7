-- Requesters for clients of other endpoints than `ide`, one each: their requests end when the client leaves or the server stops.

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local once = lazy("claude-ide.base.once")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local terminal = lazy("claude-ide.terminal")

---@class claude-ide.tools.RequesterWords for the user
---@field gone string the client has left
---@field stopping? string the server stops

---@param of fun(client: integer): claude-ide.requests.RequesterFields, claude-ide.tools.RequesterWords
---@return fun(client: integer): claude-ide.requests.Requester of_client
return function(of)
  ---@type table<integer, { requester: claude-ide.requests.Requester, words: claude-ide.tools.RequesterWords }> by client
  local known = {}

  local attach = once(function()
    bus.on("agent_disconnected", function(agent)
      local one = known[agent.id]
      known[agent.id] = nil
      if one then
        requests.gone(one.requester, one.words.gone)
      end
    end)
    bus.on("server_stopping", function()
      for _, one in pairs(known) do
        requests.close_those(function(request)
          return request.requester == one.requester
        end, one.words.stopping)
      end
    end)
  end)

  return function(client)
    attach()
    if not known[client] then
      local fields, words = of(client)
      fields.asks_here = function()
        local agent = server.agent(client)
        return agent ~= nil and terminal.is_focused_on(agent.pid)
      end
      known[client] = { requester = requests.requester(fields), words = words }
    end
    return known[client].requester
  end
end
