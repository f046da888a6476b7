-- Requesters for clients of other endpoints than `ide`, one each: their requests end when the client leaves or the server stops.

---@class claude-ide.tools.SourceWords for the user
---@field gone string the client has left
---@field stopping? string the server stops

---@param of fun(client: integer): claude-ide.decisions.SourceFields, claude-ide.tools.SourceWords
---@return fun(client: integer): claude-ide.decisions.Source of_client
return function(of)
  ---@type table<integer, { source: claude-ide.decisions.Source, words: claude-ide.tools.SourceWords }> by client
  local known = {}

  local attach = require("claude-ide.once")(function()
    local bus, decisions = require("claude-ide.bus"), require("claude-ide.decisions")
    bus.on("agent_disconnected", function(agent)
      local one = known[agent.id]
      known[agent.id] = nil
      if one then
        decisions.gone(one.source, one.words.gone)
      end
    end)
    bus.on("server_stopping", function()
      for _, one in pairs(known) do
        decisions.close_those(function(decision)
          return decision.source == one.source
        end, one.words.stopping)
      end
    end)
  end)

  return function(client)
    attach()
    if not known[client] then
      local fields, words = of(client)
      known[client] = { source = require("claude-ide.decisions").source(fields), words = words }
    end
    return known[client].source
  end
end
