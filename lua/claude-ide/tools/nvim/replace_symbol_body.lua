-- replace_symbol_body: the whole definition of a symbol, replaced.

return require("claude-ide.language.task").tool(function(task, args)
  local definition, place = require("claude-ide.language.definition_range").find(task, args)
  return require("claude-ide.tools.changes").propose(task, {
    title = ("Replace %s"):format(place.name),
    edits = { require("claude-ide.tools.symbol_edits").replace(place.buf, definition, args.body) },
    none = "The file holds just that already; nothing was changed.",
  })
end)
