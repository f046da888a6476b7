-- definition: where a symbol is defined or declared, or where its type is.

---@type table<string, claude-ide.language.Navigation>
local KINDS = {
  definition = { method = "textDocument/definition", doing = "find definitions", one = "definition" },
  declaration = { method = "textDocument/declaration", doing = "find declarations", one = "declaration" },
  type = { method = "textDocument/typeDefinition", doing = "find type definitions", one = "type definition" },
}

return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.navigate").locations(task, args, KINDS[args.kind or "definition"])
end)
