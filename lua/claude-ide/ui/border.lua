---The border of floats: 'winborder', or a rounded one. One without a border would have no title.
---@return any border for `nvim_open_win()`: a name, or eight characters
return function()
  local wanted = vim.fn.exists("+winborder") == 1 and vim.o.winborder or ""
  if wanted == "" then
    return "rounded"
  elseif wanted == "none" then
    return "solid"
  end
  return wanted:find(",", 1, true) and vim.split(wanted, ",", { plain = true }) or wanted
end
