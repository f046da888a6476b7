-- diagnostics: what is wrong in a file, or in all that the editor knows.
return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.problems").text(task, args)
end)
