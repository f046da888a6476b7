-- call_hierarchy: who calls a function, or what it calls. Each hit is the place of one call.

---@type table<string, claude-ide.language.Hierarchy>
local DIRECTIONS = {
  incoming = {
    prepare = "textDocument/prepareCallHierarchy",
    follow = "callHierarchy/incomingCalls",
    doing = "tell who calls a function",
    one = "incoming call",
    add = function(hits, found, client)
      local hit = require("claude-ide.language.hits").hit
      for _, range in ipairs(found.fromRanges or {}) do
        hits[#hits + 1] = hit(found.from.uri, range, client, ("in %s:"):format(found.from.name))
      end
    end,
  },
  outgoing = {
    prepare = "textDocument/prepareCallHierarchy",
    follow = "callHierarchy/outgoingCalls",
    doing = "tell what a function calls",
    one = "outgoing call",
    add = function(hits, found, client)
      hits[#hits + 1] = require("claude-ide.language.hits").hit(
        found.to.uri,
        found.to.selectionRange or found.to.range,
        client,
        ("%s:"):format(found.to.name)
      )
    end,
  },
}

return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.hierarchy").follow(task, args, DIRECTIONS[args.direction])
end)
