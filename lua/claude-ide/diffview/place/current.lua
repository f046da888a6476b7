-- A diff among the user's windows: it takes space from one that shows a file, which keeps a line or two.
-- Invariant: the user's windows keep their buffers and places; when the diff is closed, `ui.restore` restores their sizes and views.
---@type claude-ide.diffview.Place
---@diagnostic disable-next-line: missing-fields -- the functions follow
local M = { shared = true }

local place = require("claude-ide.diffview.place")

---Minimum height of a window to take lines from.
local MIN_HEIGHT = 8

---The window to take space from, preferably the file's own, and the side.
---@param view claude-ide.diffview.View
---@return integer win
---@return "above"|"left"|"right" side
local function neighbour(view)
  local buf = require("claude-ide.buffer").find(view.old_path)
  local win = require("claude-ide.ui.file_window").choose(buf or -1, vim.api.nvim_get_current_tabpage())
  if win and vim.api.nvim_win_get_height(win) >= MIN_HEIGHT then
    return win, "above"
  end
  return require("claude-ide.ui.file_window").beside()
end

function M.open(view)
  local buf = view.bufs.proposal
  view.tab = vim.api.nvim_get_current_tabpage()
  local win, side = neighbour(view)
  view.wins.proposal = vim.api.nvim_open_win(buf, true, { split = side, win = win })
  if view.list then
    view.wins.list = vim.api.nvim_open_win(view.list, false, { split = "left", win = view.wins.proposal })
    vim.api.nvim_win_set_width(view.wins.list, view.list_width())
  end
  view.gives_way = side == "above" and win or nil
end

function M.open_now(view, direction)
  return place.split(view, direction)
end

function M.fit(view)
  if view.gives_way and vim.api.nvim_win_is_valid(view.gives_way) then
    vim.api.nvim_win_set_height(view.gives_way, 1)
  end
  local direction = require("claude-ide.diffview.layout").get(view.layout).now
  if view.wins.now and direction then
    place.even(view.wins.now, view.wins.proposal, direction)
  end
end

function M.close(view)
  local open = place.windows(view)
  if #open == 0 then
    return
  elseif not place.has_guests(view) then
    place.vacate(view, table.remove(open, 1))
  end
  require("claude-ide.window").close_all(open)
end

return M
