-- references: who uses a symbol.
return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.navigate").locations(task, args, {
    method = "textDocument/references",
    doing = "find references",
    whole = true,
    one = "reference",
    context = { context = { includeDeclaration = args.include_declaration } },
  })
end)
