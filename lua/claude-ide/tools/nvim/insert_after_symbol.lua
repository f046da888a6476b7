-- insert_after_symbol: lines put after a symbol.

return require("claude-ide.language.task").tool(function(task, args)
  local definition, place = require("claude-ide.language.definition_range").find(task, args)
  return require("claude-ide.tools.changes").propose(task, {
    title = ("Insert after %s"):format(place.name),
    edits = { require("claude-ide.tools.symbol_edits").after(place.buf, definition, args.text) },
    none = "The file holds just that already; nothing was changed.",
  })
end)
