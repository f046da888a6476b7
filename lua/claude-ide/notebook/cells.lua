-- The cells of a notebook's text (nbformat 4), as the library reads them. Changes nothing.
local M = {}

---First line, its byte, last line, the byte behind the end there: all from 0, of the text that was read.
---@alias claude-ide.notebook.Place integer[]

---@class claude-ide.notebook.Cell
---@field index integer 0-based, as in the file
---@field kind string "code", "markdown" or "raw"
---@field id? string since nbformat 4.5
---@field source string
---@field count? number when it was run last
---@field outputs integer how many it has
---@field inside claude-ide.notebook.Place behind the brace that begins it
---@field count_at? claude-ide.notebook.Place
---@field outputs_at? claude-ide.notebook.Place

---@class claude-ide.notebook.Notebook
---@field cells claude-ide.notebook.Cell[]
---@field kernel? string the name of the kernel that it was made with
---@field language? string

---@param text string
---@return claude-ide.notebook.Notebook?
---@return string? err
function M.parse(text)
  local notebook, err = require("claude-ide.native").notebook_read(text)
  if not notebook then
    return nil, err
  end
  for index, cell in ipairs(notebook.cells) do
    cell.index = index - 1
  end
  return notebook --[[@as claude-ide.notebook.Notebook]]
end

---A cell in a later text of its notebook: by its id, else where it was, else the one that reads the same.
---@param cells claude-ide.notebook.Cell[]
---@param cell claude-ide.notebook.Cell
---@return claude-ide.notebook.Cell?
function M.find_again(cells, cell)
  local function is_same(other)
    return other ~= nil
      and other.kind == "code"
      and other.id == cell.id
      and (cell.id or other.source == cell.source)
  end
  if is_same(cells[cell.index + 1]) then
    return cells[cell.index + 1]
  end
  local found = vim.tbl_filter(is_same, cells)
  return #found == 1 and found[1] or nil
end

return M
