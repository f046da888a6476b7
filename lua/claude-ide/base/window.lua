-- Lists and closes windows.
-- Invariant: only this module closes windows (`make lint`). Neovim 0.10 and 0.11 crash when the last split of another tab page is closed,
-- or its buffer deleted, while a float is over it (such as a plugin's notice): the float is closed first. 0.11 and 0.12 crash when a float
-- of another tab page is closed that is its current and previous window: a split becomes the current one first.
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

---Sizes of a tab page's splits. `winrestcmd()` counts floats in: once one is gone, it sets the size of another window.
---@class claude-ide.WindowSizes
---@field room string what all splits together may take
---@field top integer first row below the tab line
---@field wins { win: integer, row: integer, width: integer, height: integer }[]

---@param tab integer 0: current
---@return claude-ide.WindowSizes
function M.sizes(tab)
  local room = ("%dx%d-%d %d"):format(vim.o.columns, vim.o.lines, vim.o.cmdheight, vim.o.laststatus)
  local sizes = { room = room, top = vim.o.lines, wins = {} } ---@type claude-ide.WindowSizes
  for _, win in ipairs(M.splits(tab)) do
    local row = vim.api.nvim_win_get_position(win)[1]
    local width, height = vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win)
    sizes.top = math.min(sizes.top, row)
    sizes.wins[#sizes.wins + 1] = { win = win, row = row, width = width, height = height }
  end
  return sizes
end

---Restores sizes, unless the tab page has other splits by now or more or less room for them. A tab line is made room for by the windows
---below it.
---@param tab integer a valid one; 0: current
---@param sizes claude-ide.WindowSizes
---@return boolean is_same the splits and the room are as they were
function M.restore_sizes(tab, sizes)
  local now = M.sizes(tab)
  local is_same = #now.wins == #sizes.wins and now.room == sizes.room
  for at, one in ipairs(is_same and sizes.wins or {}) do
    is_same = is_same and now.wins[at].win == one.win
  end
  if not is_same or vim.deep_equal(now, sizes) then
    return is_same
  end
  vim.api.nvim_win_call(sizes.wins[1].win, function()
    for _ = 1, 2 do -- a size can only be set when the windows beside it have theirs
      for _, one in ipairs(sizes.wins) do
        local more = one.row == sizes.top and sizes.top - now.top or 0
        vim.api.nvim_win_set_height(one.win, math.max(one.height + more, 1))
        vim.api.nvim_win_set_width(one.win, one.width)
      end
    end
  end)
  return true
end

---Shows another buffer in the last window, which cannot be closed.
---@param win integer
function M.vacate(win)
  local alternate = vim.fn.bufnr("#")
  if alternate < 1 or not vim.bo[alternate].buflisted then
    alternate = vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
      return vim.bo[buf].buflisted
    end) or vim.api.nvim_create_buf(true, false)
  end
  vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false
  vim.api.nvim_win_set_buf(win, alternate)
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
