-- The line above a window of ours, kept against plugins that write 'winbar' of every window again and again (lualine,
-- barbecue, dropbar). The one place that sets it: diffs, reviews and transcripts say what it is to be.
-- Invariant: it is held only while the window shows the buffer it was set for; what others wanted there is theirs afterwards.
local M = {}

local GROUP = "claude-ide.ui.winbar"

---@class claude-ide.ui.winbar.Held
---@field buf integer
---@field text string
---@field theirs? string what somebody else has set meanwhile

---@type table<integer, claude-ide.ui.winbar.Held> by window
local held = {}

local function shows(win)
  return vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == held[win].buf
end

local watching = false

local function stop_if_idle()
  if watching and not next(held) then
    watching = false
    vim.api.nvim_del_augroup_by_name(GROUP)
  end
end

---Puts back what others have changed, and forgets windows that are gone.
local function restore()
  for win, line in pairs(held) do
    if not vim.api.nvim_win_is_valid(win) or not vim.api.nvim_buf_is_valid(line.buf) then
      held[win] = nil
    elseif shows(win) and vim.wo[win].winbar ~= line.text then
      line.theirs = vim.wo[win].winbar
      vim.wo[win][0].winbar = line.text
    end
  end
  stop_if_idle()
end

---What is set outside of autocommands is seen at once; what is set within them, before Neovim draws and waits again.
local function watch()
  if watching then
    return
  end
  watching = true
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = "winbar",
    desc = "Claude Code: the line above a window of ours is ours",
    callback = restore,
  })
  vim.api.nvim_create_autocmd({ "SafeState", "WinEnter", "BufWinEnter", "CursorMoved", "CursorMovedI" }, {
    group = group,
    desc = "Claude Code: the line above a window of ours is ours",
    callback = restore,
  })
end

---Sets the line above a window, as long as that shows the buffer it shows now.
---@param win integer
---@param text string as for 'winbar'
function M.hold(win, text)
  local before = held[win]
  local buf = vim.api.nvim_win_get_buf(win)
  local theirs = before and before.buf == buf and before.theirs or nil
  if not (before and before.buf == buf) then
    theirs = vim.wo[win].winbar
  end
  held[win] = { buf = buf, text = text, theirs = theirs }
  vim.wo[win][0].winbar = text
  watch()
end

---Lets go of a window: its line is what others have it be.
---@param win integer
function M.release(win)
  local line = held[win]
  if line then
    local shown = shows(win)
    held[win] = nil
    if shown then
      vim.wo[win][0].winbar = line.theirs or ""
    end
    stop_if_idle()
  end
end

return M
