-- Texts cut to a number of cells of the screen, between two characters. Pure, but for the width of characters.
local M = {}

---As much of the beginning of a text as leaves one cell free, for what says that it was cut.
---@param text string
---@param cells integer
---@return string
function M.beginning(text, cells)
  local low, high = 0, math.max(math.min(vim.fn.strchars(text), cells), 0)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, middle)) <= cells - 1 then
      low = middle
    else
      high = middle - 1
    end
  end
  return vim.fn.strcharpart(text, 0, low)
end

---A text that fits into so many cells, and says so where it was cut.
---@param text string
---@param cells integer
---@return string
function M.cut(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then
    return text
  end
  return M.beginning(text, cells) .. "…"
end

---The cells that pieces of virtual text take.
---@param chunks (string[]|{ [1]: string })[]
---@return integer
function M.of_chunks(chunks)
  local cells = 0
  for _, chunk in ipairs(chunks) do
    cells = cells + vim.api.nvim_strwidth(chunk[1])
  end
  return cells
end

---A text of somebody else's as it can be shown: `strtrans()` takes none with a NUL in it.
---@param text string
---@return string
function M.printable(text)
  return vim.fn.strtrans((text:gsub("%z", "^@")))
end

return M
