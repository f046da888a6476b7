-- insert_before_symbol: lines put before a symbol.

return require("claude-ide.language.task").tool(function(task, args)
  local definition, place = require("claude-ide.language.definition_range").find(task, args)
  return require("claude-ide.tools.changes").propose(task, {
    title = ("Insert before %s"):format(place.name),
    edits = { require("claude-ide.tools.symbol_edits").before(place.buf, definition, args.text) },
    none = "The file holds just that already; nothing was changed.",
  })
end)
