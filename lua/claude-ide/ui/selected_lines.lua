---Leaves Visual mode, which sets '< and '> as a range would have.
---@return integer first line of the selection
---@return integer last
return function()
  local one, other = vim.fn.line("v"), vim.fn.line(".")
  vim.cmd("normal! \27")
  return math.min(one, other), math.max(one, other)
end
