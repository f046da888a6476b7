-- The cells of a notebook, as its file or its buffer has them (nbformat 4). Reads; changes nothing.
local M = {}

---@class claude-ide.notebook.Cell
---@field index integer 0-based, as in the file
---@field kind string "code", "markdown" or "raw"
---@field source string
---@field count? number when it was run last
---@field outputs integer how many it has

---@param value any a string, or a list of them
---@return string
local function joined(value)
  if type(value) == "table" then
    return table.concat(vim.tbl_filter(function(part)
      return type(part) == "string"
    end, value))
  end
  return type(value) == "string" and value or ""
end

---@param text string
---@return claude-ide.notebook.Cell[]?
---@return string? err
function M.parse(text)
  local ok, notebook = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not ok or type(notebook) ~= "table" then
    return nil, "it is no JSON"
  elseif type(notebook.nbformat) ~= "number" or type(notebook.cells) ~= "table" then
    return nil, "it is no notebook of nbformat 4"
  end
  local cells = {} ---@type claude-ide.notebook.Cell[]
  for index, cell in ipairs(notebook.cells) do
    cell = type(cell) == "table" and cell or {}
    cells[index] = {
      index = index - 1,
      kind = type(cell.cell_type) == "string" and cell.cell_type or "raw",
      source = joined(cell.source),
      count = type(cell.execution_count) == "number" and cell.execution_count or nil,
      outputs = type(cell.outputs) == "table" and #cell.outputs or 0,
    }
  end
  return cells
end

return M
