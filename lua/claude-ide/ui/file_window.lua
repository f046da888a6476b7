-- Chooses the window for a file, and whether the focus may move there.
-- Invariant: special windows (explorers, terminals, diffs, quickfix, fixed and floating ones) keep their buffers.
local lazy = require("claude-ide.lazy")
local guard = lazy("claude-ide.ui.guard")
local modifiers = lazy("claude-ide.ui.modifiers")
local path = lazy("claude-ide.base.path")
local window = lazy("claude-ide.base.window")

local M = {}

---Filetypes of start screens, which any file may replace.
local START_SCREENS = {
  alpha = true,
  dashboard = true,
  ministarter = true,
  snacks_dashboard = true,
  startify = true,
}

---Explorers that a file may replace; a window that shows a file is preferred.
local IN_PLACE = { oil = true }

---Whether the focus may move on a user's request. Unprompted windows wait for `ui/guard`.
---@param request? claude-ide.ui.guard.Request
---@return boolean
function M.may_focus(request)
  return guard.may_focus(request)
end

---Whether a window can leave its buffer without E37.
local function can_leave(win)
  local buf = vim.api.nvim_win_get_buf(win)
  if not vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 1 then
    return true
  end
  local bufhidden = vim.bo[buf].bufhidden
  return bufhidden == "hide" or (bufhidden == "" and vim.o.hidden)
end

---Whether files may be shown in a window.
local function is_for_files(win)
  local wo = vim.wo[win] --[[@as vim.wo]]
  if vim.api.nvim_win_get_config(win).relative ~= "" or wo.diff or wo.previewwindow or wo.winfixbuf then
    return false
  end
  local buf = vim.api.nvim_win_get_buf(win)
  local filetype = vim.bo[buf].filetype
  if START_SCREENS[filetype] or IN_PLACE[filetype] then
    return true
  elseif vim.bo[buf].buftype ~= "" or filetype == "netrw" then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return name == "" or (path.is_plain(name) and vim.fn.isdirectory(name) == 0)
end

---The window of a tab page to show a buffer in, in order of preference: shows it already, current, previous, largest.
---@param buf integer
---@param tab integer
---@param kept? integer a window whose buffer must not change
---@return integer? win
function M.choose(buf, tab, kept)
  local wins = vim.api.nvim_tabpage_list_wins(tab)
  local current = vim.api.nvim_tabpage_get_win(tab)
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local best, best_rank
  for _, win in ipairs(wins) do
    local shows = vim.api.nvim_win_get_buf(win) == buf
    if is_for_files(win) or (shows and vim.bo[buf].buftype ~= "") then
      if shows or (win ~= kept and can_leave(win)) then
        local area = vim.api.nvim_win_get_width(win) * vim.api.nvim_win_get_height(win)
        local rank = area
          + (win == previous and 1e6 or 0)
          + (win == current and 1e7 or 0)
          + (shows and 1e8 or 0)
          - (IN_PLACE[vim.bo[vim.api.nvim_win_get_buf(win)].filetype] and 1e9 or 0)
        if not best or rank > best_rank then
          best, best_rank = win, rank
        end
      end
    end
  end
  return best
end

local function holds_diff(tab)
  return vim.iter(vim.api.nvim_tabpage_list_wins(tab)):any(function(win)
    return vim.wo[win].diff
  end)
end

---Where to split when no other window has room: beside the current one, towards the middle of the screen.
---@return integer win
---@return "above"|"left"|"right" side of it
function M.beside()
  local beside = vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_config(beside).relative ~= "" then
    beside = window.splits(0)[1]
  end
  local middle = vim.api.nvim_win_get_position(beside)[2] + vim.api.nvim_win_get_width(beside) / 2
  local side = is_for_files(beside) and "above" or (middle >= vim.o.columns / 2 and "left" or "right")
  return beside, side
end

---Minimum columns of each of two windows beside each other.
local LEAST_COLUMNS = 30

---Shows a buffer in a new window, without focus.
---@param buf integer
---@return integer win
function M.split(buf)
  local beside, side = M.beside()
  if side ~= "above" and vim.api.nvim_win_get_width(beside) < 2 * LEAST_COLUMNS then
    beside, side = -1, "above" -- of all windows
  end
  return vim.api.nvim_open_win(buf, false, { split = side, win = beside })
end

---Whether a buffer is the empty one of a fresh Neovim, which `:edit` would reuse.
local function is_untouched(buf)
  return vim.api.nvim_buf_is_valid(buf)
    and vim.api.nvim_buf_get_name(buf) == ""
    and vim.bo[buf].buftype == ""
    and not vim.bo[buf].modified
    and vim.api.nvim_buf_get_changedtick(buf) <= 2
    and #vim.fn.win_findbuf(buf) == 0
end

---@param buf integer
---@param free boolean the focus may move
---@return integer? win nil: none without disturbing the user
local function destination(buf, free)
  local shown = not modifiers.opens_tab() and window.here(buf)[1] or nil
  local asked = not shown and modifiers.open(buf)
  if asked then
    return asked
  end
  local kept = not free and vim.api.nvim_get_current_win() or nil
  local win = M.choose(buf, vim.api.nvim_get_current_tabpage(), kept)
  if win then
    return win
  elseif not holds_diff(0) then
    local may_split = free or vim.api.nvim_get_mode().mode == "t"
    return may_split and M.split(buf) or nil
  elseif not free then
    return nil
  end
  -- A diff has its tab page to itself.
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    win = not holds_diff(tab) and M.choose(buf, tab) or nil
    if win then
      return win
    end
  end
  vim.cmd("tab sbuffer " .. buf)
  return vim.api.nvim_get_current_win()
end

---Shows a buffer in a suitable window. The focus moves only when no typing can end up there; a user who types keeps their window.
---@param buf integer
---@param request? claude-ide.ui.guard.Request of the user, for it
---@return integer? win nil: none without disturbing the user
---@return boolean focused
function M.show(buf, request)
  local free = M.may_focus(request)
  local win = vim.fn.getcmdwintype() == "" and destination(buf, free) or nil
  if not win then
    return nil, false
  end
  local before = vim.api.nvim_win_get_buf(win)
  if before ~= buf then
    vim.api.nvim_win_set_buf(win, buf)
    if is_untouched(before) then
      vim.api.nvim_buf_delete(before, {})
    end
  end
  if free then
    window.enter(win)
  end
  return win, free
end

return M
