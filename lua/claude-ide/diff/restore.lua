-- The screen as the person had it, to be put back when a diff goes: tab, window, sizes, views, mode.
local M = {}

---@class claude-ide.diff.Screen
---@field tab integer
---@field win integer
---@field previous_tab? integer the one `g<Tab>` goes to
---@field typing boolean the person was in terminal mode
---@field wins integer[] windows of the tab
---@field sizes string as winrestcmd() gives them
---@field lines integer
---@field columns integer
---@field views table<integer, { view: table, buf: integer, tick: integer, height: integer }> by window

---@return integer?
local function previous_tab()
  local number = vim.fn.tabpagenr("#")
  return number > 0 and vim.api.nvim_list_tabpages()[number] or nil
end

---@return claude-ide.diff.Screen
function M.remember()
  local tab = vim.api.nvim_get_current_tabpage()
  local screen = {
    tab = tab,
    win = vim.api.nvim_get_current_win(),
    previous_tab = previous_tab(),
    typing = vim.api.nvim_get_mode().mode == "t",
    wins = vim.api.nvim_tabpage_list_wins(tab),
    sizes = vim.fn.winrestcmd(),
    lines = vim.o.lines,
    columns = vim.o.columns,
    views = {},
  }
  for _, win in ipairs(screen.wins) do
    local buf = vim.api.nvim_win_get_buf(win)
    screen.views[win] = {
      view = vim.api.nvim_win_call(win, vim.fn.winsaveview),
      buf = buf,
      tick = vim.api.nvim_buf_get_changedtick(buf),
      height = vim.api.nvim_win_get_height(win),
    }
  end
  return screen
end

---Sizes and views may have given way to a tab line that came and went.
---@param screen claude-ide.diff.Screen
local function put_layout_back(screen)
  local same = vim.deep_equal(vim.api.nvim_tabpage_list_wins(screen.tab), screen.wins)
  if not same or vim.o.lines ~= screen.lines or vim.o.columns ~= screen.columns then
    return
  end
  if vim.fn.winrestcmd() ~= screen.sizes then
    pcall(vim.cmd, screen.sizes)
  end
  for win, saved in pairs(screen.views) do
    local buf = vim.api.nvim_win_get_buf(win)
    if
      buf == saved.buf
      and vim.bo[buf].buftype ~= "terminal"
      and vim.api.nvim_buf_get_changedtick(buf) == saved.tick
    then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(saved.view)
      end)
    end
  end
end

---Goes back, as far as what was there still is. Call `settle` when the diff's own windows are closed.
---@param screen claude-ide.diff.Screen
---@return boolean went false: the tab is gone, Neovim will choose one
function M.go(screen)
  if not vim.api.nvim_tabpage_is_valid(screen.tab) then
    return false
  end
  if screen.previous_tab and vim.api.nvim_tabpage_is_valid(screen.previous_tab) then
    vim.api.nvim_set_current_tabpage(screen.previous_tab)
  end
  vim.api.nvim_set_current_tabpage(screen.tab)
  if vim.api.nvim_win_is_valid(screen.win) and vim.api.nvim_get_current_win() ~= screen.win then
    vim.api.nvim_set_current_win(screen.win)
  end
  return true
end

---The rest, when the tab line is as it was.
---@param screen claude-ide.diff.Screen
function M.settle(screen)
  if vim.api.nvim_tabpage_is_valid(screen.tab) and vim.api.nvim_get_current_tabpage() == screen.tab then
    put_layout_back(screen)
  end
  local mode = vim.api.nvim_get_mode().mode
  local here = vim.api.nvim_get_current_win() == screen.win
  if screen.typing and here and vim.bo.buftype == "terminal" then
    vim.cmd.startinsert()
  elseif mode:find("^[iR]") then
    vim.cmd.stopinsert()
  end
end

return M
