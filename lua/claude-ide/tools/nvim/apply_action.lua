-- apply_action: does one of the code actions that were listed.

return require("claude-ide.language.task").tool(function(task, args)
  local actions = require("claude-ide.tools.actions")
  local one = actions.find(task, args.id)
  local edits, note = actions.edits(task, one)
  local answer = require("claude-ide.tools.changes").propose(task, {
    title = one.action.title,
    edits = edits,
    none = "The action changes nothing here.",
  })
  return { text = note and answer.text .. "\nNote: " .. note .. "." or answer.text }
end)
