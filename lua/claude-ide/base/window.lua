-- Lists, enters, scrolls and closes windows.
-- Invariant: only this module enters and closes windows (`make lint`). Neovim 0.10 and 0.11 crash when the last split of another tab page
-- is closed, or its buffer deleted, while a float is over it (such as a plugin's notice): the float is closed first. 0.11 and 0.12 crash
-- when a float of another tab page is closed that is its current and previous window: a split becomes the current one first.
local M = {}

local function is_float(win)
  return vim.api.nvim_win_get_config(win).relative ~= ""
end

---The windows of a tab page except floats.
---@param tab integer 0: current
---@return integer[]
function M.splits(tab)
  return vim.tbl_filter(function(win)
    return not is_float(win)
  end, vim.api.nvim_tabpage_list_wins(tab))
end

---Windows of the current tab page with the buffer.
---@param buf integer
---@return integer[]
function M.here(buf)
  local tab = vim.api.nvim_get_current_tabpage()
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_tabpage(win) == tab
  end, vim.fn.win_findbuf(buf))
end

---Whether it is Neovim's last window that is not a float.
---@param win integer
---@return boolean
function M.is_last(win)
  local splits = M.splits(vim.api.nvim_win_get_tabpage(win))
  return #vim.api.nvim_list_tabpages() == 1 and #splits == 1 and splits[1] == win
end

---Ends Visual mode, as Neovim's own keys do before another buffer, and its API does not: Terminal mode could not start in it.
function M.end_visual()
  if vim.api.nvim_get_mode().mode:find("^[vV\22sS\19]") then
    vim.cmd("normal! \27")
  end
end

---Enters a window.
---@param win integer
---@param comes_back? boolean the user was there a moment ago, perhaps in Visual mode
function M.enter(win, comes_back)
  if not comes_back and vim.api.nvim_win_get_buf(win) ~= vim.api.nvim_get_current_buf() then
    M.end_visual()
  end
  vim.api.nvim_set_current_win(win)
end

---Scrolls the current window so that its cursor is on a row, as far as the text allows.
---@param row integer as of `winline()`
function M.scroll_to_row(row)
  local beyond = vim.fn.winline() - row
  if beyond ~= 0 then
    local view, key = vim.fn.winsaveview(), vim.keycode(beyond > 0 and "<C-e>" or "<C-y>")
    vim.cmd(("normal! %d%s"):format(math.abs(beyond), key))
    -- In Insert mode the cursor may have been behind the line's end.
    vim.fn.winrestview({ lnum = view.lnum, col = view.col, coladd = view.coladd, curswant = view.curswant })
  end
end

---Closes floats over a window before it is closed, if Neovim would crash otherwise.
---@param win integer
---@param force? boolean as for `close`
function M.close_floats_over(win, force)
  local tab = vim.api.nvim_win_get_tabpage(win)
  if tab == vim.api.nvim_get_current_tabpage() or not vim.deep_equal(M.splits(tab), { win }) then
    return
  end
  for _, float in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
    if float ~= win then
      M.close(float, force)
    end
  end
  local is_alone = not vim.api.nvim_win_is_valid(win) or #vim.api.nvim_tabpage_list_wins(tab) == 1
  assert(is_alone, "a floating window over it does not close")
end

---Makes a split the current window of a float's tab page, unless that is the current tab page.
---@param win integer
local function leave_elsewhere(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  if tab ~= vim.api.nvim_get_current_tabpage() and vim.api.nvim_tabpage_get_win(tab) == win then
    vim.api.nvim_tabpage_set_win(tab, M.splits(tab)[1])
  end
end

---Closes a valid window.
---@param win integer?
---@param force? boolean false: fail if unsaved text would be lost; default: true
function M.close(win, force)
  if win and vim.api.nvim_win_is_valid(win) then
    M.close_floats_over(win, force)
  end
  if win and vim.api.nvim_win_is_valid(win) and is_float(win) then
    leave_elsewhere(win)
  end
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_close(win, force ~= false)
  end
end

---Closes windows, ignoring failures.
---@param wins integer[]
function M.close_all(wins)
  for _, win in ipairs(wins) do
    pcall(M.close, win)
  end
end

---Deletes a buffer, modified or not, and closes its windows.
---@param buf integer
function M.delete_buffer(buf)
  local here = vim.api.nvim_get_current_tabpage()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win) ~= here then
      M.close(win)
    end
  end
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_delete(buf, { force = true })
  end
end

return M
