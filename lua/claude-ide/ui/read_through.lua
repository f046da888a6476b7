-- Tracks whether all of a text to be approved was visible. Until then a key that allows it scrolls on. While another float covers a part
-- of the window, it allows nothing.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local window = lazy("claude-ide.ui.guard.window")

local M = {}

local GROUP = "claude-ide.ui.read_through"

---@class claude-ide.ui.Reading
---@field last integer last line of the text
---@field is_seen boolean that line was visible: the user who jumps there has decided to
---@field read integer the lines to this one were visible

---@type table<integer, claude-ide.ui.Reading> by window
local readings = {}

local function look(win)
  local reading = readings[win]
  if not reading then
    return
  end
  local first, bottom = vim.fn.line("w0", win), vim.fn.line("w$", win)
  reading.is_seen = reading.is_seen or bottom >= reading.last
  if first <= reading.read + 1 then
    reading.read = math.max(reading.read, bottom)
  end
end

---A window shows a text to be approved, or a new one.
---@param win integer
---@param last integer last line of the text
function M.note(win, last)
  readings[win] = { last = last, is_seen = false, read = 0 }
  local group = vim.api.nvim_create_augroup(GROUP, { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, pattern = tostring(win) })
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinClosed" }, {
    group = group,
    pattern = tostring(win),
    desc = "Claude Code: note how far a text to be approved was read",
    callback = function(event)
      if event.event == "WinClosed" then
        readings[win] = nil
        return true
      end
      look(win)
    end,
  })
end

---Rows and columns on the screen, from 0, the last ones excluded.
---@param win integer a float
---@param config table its
---@param is_whole boolean with its border
local function area(win, config, is_whole)
  local at, border = vim.api.nvim_win_get_position(win), config.border and config.border ~= "none" and 1 or 0
  local skipped, more = is_whole and 0 or border, is_whole and 2 * border or 0
  local top, left = at[1] + skipped, at[2] + skipped
  return top, left, top + config.height + more, left + config.width + more
end

---@param win integer
---@return boolean
local function is_covered(win)
  local own = vim.api.nvim_win_get_config(win)
  if own.relative == "" then
    return false
  end
  local top, left, bottom, right = area(win, own, false)
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(other)
    local config = vim.api.nvim_win_get_config(other)
    if other == win or config.relative == "" or config.hide or config.zindex < own.zindex then
      return false
    end
    local first_row, first_column, after_row, after_column = area(other, config, true)
    return first_row < bottom and after_row > top and first_column < right and after_column > left
  end)
end

---Whether a key in the current window may allow; otherwise it scrolls down.
---@return boolean
function M.may_allow()
  local win = vim.api.nvim_get_current_win()
  if is_covered(win) then
    notice.info("Close the window that covers part of this request first.")
    return false
  end
  look(win)
  local reading = readings[win]
  if not reading or reading.is_seen then
    return true
  end
  local next_line = reading.read + 1
  vim.fn.winrestview({ topline = next_line, lnum = next_line, col = 0 })
  window.opened(vim.api.nvim_win_get_buf(win))
  notice.info("Read to the end first, then press the key again.")
  return false
end

return M
