-- implementations: what implements an interface, or overrides a method.
return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.navigate").locations(task, args, {
    method = "textDocument/implementation",
    doing = "find implementations",
    whole = true,
    one = "implementation",
  })
end)
