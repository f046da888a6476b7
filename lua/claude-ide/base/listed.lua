-- Names in a sentence: the first ones, and how many more there are.
local lazy = require("claude-ide.lazy")
local width = lazy("claude-ide.base.width")

---@param names string[]
---@param most? integer default: 3
---@return string
return function(names, most)
  most = most or 3
  local text = table.concat(vim.tbl_map(width.printable, vim.list_slice(names, 1, most)), ", ")
  return #names > most and ("%s and %d more"):format(text, #names - most) or text
end
