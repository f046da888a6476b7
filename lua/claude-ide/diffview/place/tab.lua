-- A tab page for a diff. It is closed with the diff, unless it has other windows.
---@type claude-ide.diffview.Place
---@diagnostic disable-next-line: missing-fields -- the functions follow
local M = { shared = false }

local place = require("claude-ide.diffview.place")

function M.open(view)
  vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(view.list or view.bufs.proposal))
  local win = vim.api.nvim_get_current_win()
  view.tab = vim.api.nvim_get_current_tabpage()
  if view.list then
    view.wins.list = win
    win = vim.api.nvim_open_win(view.bufs.proposal, true, { split = "right", win = win })
  end
  view.wins.proposal = win
end

function M.open_now(view, direction)
  return place.split(view, direction)
end

function M.fit(view)
  local direction = require("claude-ide.diffview.layout").get(view.layout).now
  if view.wins.now and direction and not place.has_guests(view) then
    place.even(view.wins.now, view.wins.proposal, direction)
  end
end

function M.close(view)
  local open = place.windows(view)
  if #open == 0 then
    return
  end
  -- A valid window implies a valid tab page.
  local alone = #vim.api.nvim_list_tabpages() == 1 and not place.has_guests(view)
  if alone then
    place.vacate(view, table.remove(open, 1))
  elseif not place.has_guests(view) then
    pcall(vim.api.nvim_command, vim.api.nvim_tabpage_get_number(view.tab) .. "tabclose!")
  end
  require("claude-ide.window").close_all(open)
end

return M
