-- rename: a symbol under another name wherever it is used, as its language server knows it.
local METHOD = "textDocument/rename"

return require("claude-ide.language.task").tool(function(task, args)
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local place = locate.place(task, args)
  local clients, why_not = servers.wait(task, place.buf, METHOD, "rename")
  if why_not then
    task:fail(why_not)
  end
  local problem ---@type string?
  for _, client in ipairs(clients) do
    local params = vim.tbl_extend("error", locate.params(task, place, client), { newName = args.new_name })
    local changes, asked = require("claude-ide.tools.changes"), nil
    local edit, err = require("claude-ide.language.ready").steady(task, client, place.buf, function()
      asked = changes.asked(client, place.name)
      return require("claude-ide.language.request").send(task, client, METHOD, params, place.buf)
    end)
    problem = problem or err
    if edit then
      local answer = changes.propose(task, {
        title = ("Rename %s to %s"):format(place.name, args.new_name),
        edits = { asked(edit) },
        none = ("`%s` has that name already; nothing was changed."):format(place.name),
      })
      return { text = place.note and place.note .. "\n" .. answer.text or answer.text }
    end
  end
  task:fail(problem or ("%s cannot rename `%s`"):format(servers.names(clients), place.name))
end)
