-- The windows of a diff as its layout wants them: made, dressed, compared, and turned from one layout into another.
-- Invariant: the proposal's window is there from first to last, so cursor, view and undo history survive every change.
local M = {}

---Makes the window of the present text, if the layout has one.
---@param view claude-ide.diff.View
local function open_now(view)
  local direction = require("claude-ide.diff.layout").get(view.layout).now
  if direction then
    view.wins.now =
      vim.api.nvim_open_win(view.bufs.now, false, { split = direction, win = view.wins.proposal })
  end
end

---@param view claude-ide.diff.View
local function compare(view)
  if not view.wins.now then
    require("claude-ide.diff.unified").show(view.hunks, view.bufs.now, view.wins.proposal)
  elseif view.plain then
    require("claude-ide.diff.marks").show(view, view.hunks.list)
  else
    for _, win in pairs(view.wins) do
      vim.api.nvim_win_call(win, vim.cmd.diffthis)
    end
  end
end

---@param view claude-ide.diff.View
local function end_comparing(view)
  require("claude-ide.diff.unified").hide(view.bufs.proposal)
  require("claude-ide.diff.marks").hide(view)
  for _, win in pairs(view.wins) do
    vim.api.nvim_win_call(win, function()
      vim.cmd("diffoff")
    end)
    vim.wo[win][0].scrollbind = false
  end
end

---The first change as diff mode sees it: with the person's 'diffopt' that need not be the first that there is.
---@return integer lnum
local function first_in_diff_mode()
  vim.cmd("normal! gg")
  if vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
    vim.cmd("silent! normal! ]c")
  end
  return vim.fn.line(".")
end

---@param view claude-ide.diff.View
local function go_to_first_change(view)
  if not view.wins.now then
    return require("claude-ide.diff.unified").go_to_first(view.bufs.proposal)
  end
  local first = view.hunks.list[1]
  for side, win in pairs(view.wins) do
    vim.api.nvim_win_call(win, function()
      local lnum = 1
      if not view.plain then
        lnum = first_in_diff_mode()
      elseif first then
        lnum =
          math.min(side == "now" and first.old or first.new, vim.api.nvim_buf_line_count(view.bufs[side]))
      end
      vim.api.nvim_win_set_cursor(win, { lnum, 0 })
      vim.cmd("normal! zvzz")
    end)
  end
end

---@param view claude-ide.diff.View
---@param winbar fun(side: claude-ide.diff.Side, width: integer): string
function M.set_winbars(view, winbar)
  for side, win in pairs(view.wins) do
    if vim.api.nvim_win_is_valid(win) then
      vim.wo[win][0].winbar = winbar(side, vim.api.nvim_win_get_width(win))
    end
  end
end

---Opens the windows in a tab of their own, which is then the current one.
---@param view claude-ide.diff.View
---@param winbar fun(side: claude-ide.diff.Side, width: integer): string
function M.open(view, winbar)
  vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(view.bufs.proposal))
  view.wins.proposal = vim.api.nvim_get_current_win()
  view.tab = vim.api.nvim_get_current_tabpage()
  open_now(view)
  for side, win in pairs(view.wins) do
    require("claude-ide.diff.dress").window(win, winbar(side, vim.api.nvim_win_get_width(win)))
  end
  compare(view)
  go_to_first_change(view)
  vim.api.nvim_set_current_win(view.wins.proposal)
  vim.cmd("syncbind")
end

---Turns the windows into those of another layout. The text, its history and where the person is in it stay.
---@param view claude-ide.diff.View whose proposal is shown
---@param name claude-ide.diff.LayoutName
---@param winbar fun(side: claude-ide.diff.Side, width: integer): string
function M.switch(view, name, winbar)
  local proposal, now = view.wins.proposal, view.wins.now
  local saved = vim.api.nvim_win_call(proposal, vim.fn.winsaveview)
  if now and vim.api.nvim_get_current_win() == now then
    saved.lnum = require("claude-ide.diff.hunks").map(view.hunks, vim.api.nvim_win_get_cursor(now)[1])
    saved.topline = math.max(saved.lnum - vim.fn.winline() + 1, 1)
    vim.api.nvim_set_current_win(proposal)
  end
  end_comparing(view)
  view.wins.now = nil
  if now then
    vim.api.nvim_win_close(now, true)
  end
  view.layout = name
  open_now(view)
  if view.wins.now then
    require("claude-ide.diff.dress").window(view.wins.now, "")
  end
  compare(view)
  M.set_winbars(view, winbar)
  saved.topfill = nil
  vim.api.nvim_win_call(proposal, function()
    vim.fn.winrestview(saved)
    vim.cmd("normal! zv")
    if view.wins.now then
      vim.cmd("syncbind")
    end
  end)
end

---The text has changed.
---@param view claude-ide.diff.View
function M.refresh(view)
  if not view.wins.now then
    require("claude-ide.diff.unified").refresh(view.bufs.proposal)
  elseif view.plain then
    require("claude-ide.diff.marks").refresh(view, view.hunks.list)
  end
end

return M
