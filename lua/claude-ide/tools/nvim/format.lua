-- format: a whole file as its language server formats it.
local METHOD = "textDocument/formatting"

return require("claude-ide.language.task").tool(function(task, args)
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local buf = locate.buffer(task, args.path)
  local clients, why_not = servers.wait(task, buf, METHOD, "format")
  if why_not then
    task:fail(why_not)
  end
  local client, uri, shown = clients[1], vim.uri_from_bufnr(buf), locate.shown(args.path)
  local bo = vim.bo[buf]
  local params = {
    textDocument = { uri = uri },
    options = {
      tabSize = bo.shiftwidth > 0 and bo.shiftwidth or bo.tabstop,
      insertSpaces = bo.expandtab,
    },
  }
  require("claude-ide.language.breaks").of(task, client, buf)
  local asked = require("claude-ide.tools.changes").asked(client)
  local edits, err = require("claude-ide.language.request").send(task, client, METHOD, params, buf)
  if err then
    task:fail(err)
  end
  return require("claude-ide.tools.changes").propose(task, {
    title = "Format " .. vim.fs.basename(shown),
    edits = { asked({ changes = { [uri] = edits or {} } }) },
    none = ("%s is formatted already; nothing was changed."):format(shown),
  })
end)
