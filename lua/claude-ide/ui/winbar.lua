-- Sets the winbar of plugin windows, and sets it again when a plugin that writes 'winbar' of every window (lualine, barbecue,
-- dropbar) changes it. The only module that sets it.
-- Invariant: it holds only while the window shows the buffer it was set for; then the value that others set is restored.
local M = {}

local GROUP = "claude-ide.ui.winbar"

---@class claude-ide.ui.winbar.Kept
---@field buf integer
---@field text string
---@field theirs? string value set by others meanwhile

---@type table<integer, claude-ide.ui.winbar.Kept> by window
local winbars = {}

local function shows(win)
  return vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == winbars[win].buf
end

local watching = false

local function stop_if_idle()
  if watching and not next(winbars) then
    watching = false
    vim.api.nvim_del_augroup_by_name(GROUP)
  end
end

---Restores winbars that others changed, and forgets closed windows.
local function restore()
  for win, line in pairs(winbars) do
    if not vim.api.nvim_win_is_valid(win) or not vim.api.nvim_buf_is_valid(line.buf) then
      winbars[win] = nil
    elseif shows(win) and vim.wo[win].winbar ~= line.text then
      line.theirs = vim.wo[win].winbar
      vim.wo[win][0].winbar = line.text
    end
  end
  stop_if_idle()
end

---OptionSet reports changes outside autocommands; those within are found before Neovim redraws.
local function watch()
  if watching then
    return
  end
  watching = true
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = "winbar",
    desc = "Claude Code: keep the winbar",
    callback = restore,
  })
  vim.api.nvim_create_autocmd({ "SafeState", "WinEnter", "BufWinEnter", "CursorMoved", "CursorMovedI" }, {
    group = group,
    desc = "Claude Code: keep the winbar",
    callback = restore,
  })
end

---Sets the winbar of a window while it shows its current buffer.
---@param win integer
---@param text string value of 'winbar'
function M.hold(win, text)
  local before = winbars[win]
  local buf = vim.api.nvim_win_get_buf(win)
  local theirs = before and before.buf == buf and before.theirs or nil
  if not (before and before.buf == buf) then
    theirs = vim.wo[win].winbar
  end
  winbars[win] = { buf = buf, text = text, theirs = theirs }
  vim.wo[win][0].winbar = text
  watch()
end

---Restores the winbar that others set.
---@param win integer
function M.release(win)
  local line = winbars[win]
  if line then
    local shown = shows(win)
    winbars[win] = nil
    if shown then
      vim.wo[win][0].winbar = line.theirs or ""
    end
    stop_if_idle()
  end
end

return M
