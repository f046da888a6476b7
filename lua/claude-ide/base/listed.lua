-- Names in a sentence: the first ones, and how many more there are.
local lazy = require("claude-ide.lazy")
local width = lazy("claude-ide.base.width")

local MAX_NAMES = 3

---@param names string[]
---@return string
return function(names)
  local text = table.concat(vim.tbl_map(width.printable, vim.list_slice(names, 1, MAX_NAMES)), ", ")
  return #names > MAX_NAMES and ("%s and %d more"):format(text, #names - MAX_NAMES) or text
end
