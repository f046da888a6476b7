-- notebook_cells: the cells of a notebook, with what they hold, as its buffer or its file has them.

---How much of one cell is shown.
local CELL_BYTES = 1200

---@param cell claude-ide.notebook.Cell
local function head(cell)
  local words = { ("[%d] %s"):format(cell.index, cell.kind) }
  if cell.count then
    words[#words + 1] = ("run %d"):format(cell.count)
  end
  if cell.outputs > 0 then
    words[#words + 1] = require("claude-ide.language.answer").number(cell.outputs, "output")
  end
  return table.concat(words, ", ")
end

return require("claude-ide.language.task").tool(function(task, args)
  local cells, unsaved = require("claude-ide.tools.notebook_file").cells(task, args.path)
  local answer = require("claude-ide.language.answer")
  return answer.pages(task, {
    head = ("%s%s:"):format(
      answer.number(#cells, "cell"),
      unsaved and ", with unsaved changes of the user's" or ""
    ),
    count = #cells,
    entry = function(index)
      local cell = cells[index]
      return { text = head(cell) .. "\n" .. answer.cut(cell.source, CELL_BYTES) }
    end,
    cursor = args.cursor,
  })
end)
