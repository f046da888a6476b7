-- organize_imports: the imports of a file as its language server sorts them.
local KIND = "source.organizeImports"

return require("claude-ide.language.task").tool(function(task, args)
  local actions, locate = require("claude-ide.tools.actions"), require("claude-ide.language.locate")
  local buf, shown = locate.buffer(task, args.path), locate.shown(args.path)
  local offered, err = actions.offered(task, buf, function()
    local last = vim.api.nvim_buf_line_count(buf)
    return { start = { line = 0, character = 0 }, ["end"] = { line = last, character = 0 } }
  end, { KIND })
  if err then
    task:fail(err)
  end
  for _, one in ipairs(offered) do
    if one.action.kind == nil or vim.startswith(tostring(one.action.kind), KIND) then
      return require("claude-ide.tools.changes").propose(task, {
        title = "Organize the imports of " .. vim.fs.basename(shown),
        edits = actions.edits(task, one),
        none = ("The imports of %s are in order already; nothing was changed."):format(shown),
      })
    end
  end
  return { text = ("The language server offers nothing to organize in %s."):format(shown) }
end)
