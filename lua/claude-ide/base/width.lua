-- Cuts texts to a width in cells, between characters. Pure, except for character widths.
local lazy = require("claude-ide.lazy")
local invisible_text = lazy("claude-ide.base.invisible_text")

local M = {}

---A text's width in cells. Most are ASCII, for which Neovim need not be asked.
---@param text string
---@return integer
function M.of(text)
  return text:find("[^\32-\126]") and vim.fn.strdisplaywidth(text) or #text
end

---The beginning of a text that leaves one cell for an ellipsis.
---@param text string
---@param cells integer
---@return string
function M.beginning(text, cells)
  if not text:find("[^\32-\126]") then
    return text:sub(1, math.max(cells - 1, 0))
  end
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

---Cuts a text to a width, with an ellipsis.
---@param text string
---@param cells integer
---@return string
function M.cut(text, cells)
  if M.of(text) <= cells then
    return text
  end
  local kept = M.beginning(text, cells):gsub("%s+$", "")
  return kept .. (cells > 0 and "…" or "")
end

---A text, possibly of a model, on one line.
---@param text string
---@param cells integer
---@return string
function M.in_a_line(text, cells)
  return M.cut(M.printable((vim.trim(text):gsub("%s+", " "))), cells)
end

---Maximum rows of a wrapped line: Neovim does not scroll within one.
local MOST_ROWS = 6

---Splits a long line for a window of this size to scroll through: behind a blank, if a piece has one in its second half.
---@param line string
---@param cells integer
---@param height integer
---@return string[]
function M.pieces(line, cells, height)
  -- Half of the window: 'linebreak' may need more rows.
  if #line <= cells * math.max(math.min(math.floor(height / 2), MOST_ROWS), 1) then
    return { line }
  end
  local pieces, from, used = {}, 1, 0
  local blank, used_there = nil, 0 ---@type integer?, integer
  for start, char in line:gmatch("()([%z\1-\127\194-\244][\128-\191]*)") do
    local at = start --[[@as integer]]
    local wide = #char == 1 and 1 or vim.api.nvim_strwidth(char)
    if used + wide > cells then
      local next_from = blank and blank + 1 or at
      pieces[#pieces + 1] = line:sub(from, next_from - 1)
      from, used, blank = next_from, blank and used - used_there or 0, nil
    end
    used = used + wide
    if char == " " and used * 2 > cells then
      blank, used_there = at, used
    end
  end
  pieces[#pieces + 1] = line:sub(from)
  return pieces
end

---Width of virtual text chunks.
---@param chunks (string[]|{ [1]: string })[]
---@return integer
function M.of_chunks(chunks)
  local cells = 0
  for _, chunk in ipairs(chunks) do
    cells = cells + vim.api.nvim_strwidth(chunk[1])
  end
  return cells
end

---A foreign text with marks for unprintable and invisible characters. `strtrans()` does not accept NUL.
---@param text string
---@return string
function M.printable(text)
  if not text:find("[^\32-\126]") then
    return text
  end
  return vim.fn.strtrans((invisible_text.characters(text):gsub("%z", "^@")))
end

return M
