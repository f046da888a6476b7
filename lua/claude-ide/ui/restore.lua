-- Saves the screen before a diff and restores it after: tab page, window, sizes, views, mode.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local split = lazy("claude-ide.ui.split")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.ui.Screen
---@field tab integer
---@field win integer
---@field previous_win? integer target of `<C-w>p`
---@field previous_tab? integer target of `g<Tab>`
---@field typing boolean the user was in terminal mode
---@field layout? claude-ide.ui.Layout
---@field views table<integer, claude-ide.ui.SavedView> by window

---@class claude-ide.ui.SavedView
---@field view table of winsaveview()
---@field buf integer
---@field tick integer the buffer's changedtick
---@field top? integer extmark of the first visible line; nil: the text cannot change
---@field line? integer extmark of the cursor's line

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.restore")

---The current window and tab page only.
---@return claude-ide.ui.Screen
function M.remember_place()
  local previous = vim.fn.tabpagenr("#")
  return {
    tab = vim.api.nvim_get_current_tabpage(),
    win = vim.api.nvim_get_current_win(),
    previous_tab = previous > 0 and vim.api.nvim_list_tabpages()[previous] or nil,
    typing = false,
    views = {},
  }
end

---@return claude-ide.ui.Screen
function M.remember()
  local screen, previous_win = M.remember_place(), vim.fn.win_getid(vim.fn.winnr("#"))
  screen.previous_win = previous_win > 0 and previous_win or nil
  screen.typing = vim.api.nvim_get_mode().mode == "t"
  screen.layout = split.layout(screen.tab)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(screen.tab)) do
    local buf = vim.api.nvim_win_get_buf(win)
    local saved = {
      view = vim.api.nvim_win_call(win, vim.fn.winsaveview),
      buf = buf,
      tick = vim.api.nvim_buf_get_changedtick(buf),
    }
    if vim.bo[buf].buftype == "" then
      -- An accepted change is reloaded before the view is restored, and may move lines.
      local view = saved.view --[[@as { topline: integer, lnum: integer }]]
      saved.top = vim.api.nvim_buf_set_extmark(buf, namespace, view.topline - 1, 0, {})
      saved.line = vim.api.nvim_buf_set_extmark(buf, namespace, view.lnum - 1, 0, {})
    end
    screen.views[win] = saved
  end
  return screen
end

---@param win integer
---@param saved claude-ide.ui.SavedView
---@return table? view nil: nothing to restore
local function view_now(win, saved)
  if vim.api.nvim_buf_get_changedtick(saved.buf) == saved.tick then
    -- A cursor that moved was moved by the user.
    local view, cursor = saved.view, vim.api.nvim_win_get_cursor(win)
    return cursor[1] == view.lnum and cursor[2] == view.col and view or nil
  elseif not saved.top then
    return nil
  end
  local function lnum(id)
    local at = vim.api.nvim_buf_get_extmark_by_id(saved.buf, namespace, id, {})
    return at[1] and at[1] + 1
  end
  local top, line = lnum(saved.top), lnum(saved.line)
  if not top or not line then
    return nil
  end
  return vim.tbl_extend("force", saved.view, { topline = top, lnum = line })
end

---Forgets all saved screens.
function M.forget()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

---Goes back to the saved window. Call `settle` when the diff's windows are closed.
---@param screen claude-ide.ui.Screen
---@return boolean went false: the tab page is gone and Neovim chooses one
function M.go(screen)
  if not vim.api.nvim_tabpage_is_valid(screen.tab) then
    return false
  end
  if screen.previous_tab and vim.api.nvim_tabpage_is_valid(screen.previous_tab) then
    vim.api.nvim_set_current_tabpage(screen.previous_tab)
  end
  vim.api.nvim_set_current_tabpage(screen.tab)
  local previous = screen.previous_win
  if previous and previous ~= vim.fn.win_getid(vim.fn.winnr("#")) and vim.api.nvim_win_is_valid(previous) then
    window.enter(previous, true)
  end
  if vim.api.nvim_win_is_valid(screen.win) and vim.api.nvim_get_current_win() ~= screen.win then
    window.enter(screen.win, true)
  end
  return true
end

---Restores sizes and views. Call it when the diff's windows and tab line are gone.
---@param screen claude-ide.ui.Screen
---@param besides? integer a window that keeps its view
function M.settle_windows(screen, besides)
  local is_here = vim.api.nvim_get_current_tabpage() == screen.tab
  if not is_here or not screen.layout or not split.restore(screen.tab, screen.layout) then
    return
  end
  for win, saved in pairs(screen.views) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    local view = buf
      and win ~= besides
      and buf == saved.buf
      and vim.bo[buf].buftype ~= "terminal"
      and view_now(win, saved)
    if view then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

---Restores sizes, views and the mode. Call it when the tab line is as it was.
---@param screen claude-ide.ui.Screen
---@param goes_on? boolean the mode stays: what is typed is not for this window
function M.settle(screen, goes_on)
  M.settle_windows(screen)
  if goes_on then
    return
  end
  local mode = vim.api.nvim_get_mode().mode
  local here = vim.api.nvim_get_current_win() == screen.win
  if screen.typing and here and vim.bo.buftype == "terminal" then
    -- In a terminal whose process has exited, the next key would close it.
    if vim.fn.jobwait({ vim.bo.channel }, 0)[1] == -1 then
      notice.mode_comes()
      vim.cmd.startinsert()
    end
  elseif mode:find("^[iR]") then
    vim.cmd.stopinsert()
  end
end

return M
