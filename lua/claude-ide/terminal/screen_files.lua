-- Finds the file that a terminal's screen names at a place, also where a line break cuts its name.
-- The CLI and the terminal break a long word at the screen's edge, and what follows is indented. Whether a line was broken there is not
-- known: the lines are joined if they fill the window and name an existing file together.

local lazy = require("claude-ide.lazy")
local file_link = lazy("claude-ide.ui.file_link")

local M = {}

---Lines of a broken name before and after that of the cursor.
local MAX_LINES = 4
---Columns at the right edge that the CLI leaves free.
local MARGIN = 4

---@param win integer
---@param row integer 0-based
---@param col integer byte
---@return string text the line joined with those that continue it
---@return integer col in it
local function joined(win, row, col)
  local buf = vim.api.nvim_win_get_buf(win)
  local first = math.max(row - MAX_LINES, 0)
  local lines = vim.api.nvim_buf_get_lines(buf, first, row + MAX_LINES + 1, false)
  local width = vim.api.nvim_win_get_width(win) - MARGIN
  local function is_full(at)
    return lines[at] ~= nil and vim.fn.strdisplaywidth(lines[at]) >= width
  end
  local at = row - first + 1
  local text = lines[at] or ""
  local before = at
  while is_full(before - 1) do
    before = before - 1
    local rest = text:gsub("^%s+", "")
    col = math.max(col - (#text - #rest), 0) + #lines[before]
    text = lines[before] .. rest
  end
  while is_full(at) and lines[at + 1] do
    at = at + 1
    text = text .. lines[at]:gsub("^%s+", "")
  end
  return text, col
end

---The link at a place.
---@param win integer that shows the terminal; 0: current
---@param row integer 0-based
---@param col integer byte, 0-based
---@param folders string[] that it may be relative to
---@return claude-ide.ui.FileLink?
function M.at(win, row, col, folders)
  local buf = vim.api.nvim_win_get_buf(win)
  local text, at = joined(win, row, col)
  local whole = file_link.existing_at(text, at, folders)
  if whole and file_link.find(whole.path, folders) then
    return whole
  end
  return file_link.existing_at(vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or "", col, folders)
end

return M
