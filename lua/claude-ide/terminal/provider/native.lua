-- The terminal in a split, which keeps the size that the user gave it.
-- Invariant: when it is closed, the other windows have their previous sizes.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local window = lazy("claude-ide.base.window")

---@class claude-ide.terminal.native.Placed
---@field others claude-ide.WindowSizes before it was opened
---@field size integer initial size

---@type table<integer, claude-ide.terminal.native.Placed> by window
local placed = {}
---Columns or lines set by the user, if any.
---@type integer?
local chosen_size

local SPLIT = { left = "left", right = "right", top = "above", bottom = "below" }
---Minimum size of the terminal and of the rest.
local LEAST_COLUMNS, LEAST_LINES = 20, 5

---@return boolean vertical
---@return "left"|"right"|"top"|"bottom" side
local function orientation()
  local side = config.get().terminal.side
  return side == "left" or side == "right", side
end

---@param vertical boolean
---@return integer
local function wanted_size(vertical)
  local size = config.get().terminal.size
  local total = vertical and vim.o.columns or vim.o.lines
  local least = vertical and LEAST_COLUMNS or LEAST_LINES
  local cells = chosen_size or (size < 1 and math.floor(total * size + 0.5) or math.floor(size))
  return math.max(math.min(cells, total - least), math.min(least, math.floor(total / 2)), 1)
end

local function actual_size(win, vertical)
  return vertical and vim.api.nvim_win_get_width(win) or vim.api.nvim_win_get_height(win)
end

local function resize(win, vertical, size)
  if vertical then
    vim.api.nvim_win_set_width(win, size)
  else
    vim.api.nvim_win_set_height(win, size)
  end
end

---A share of the screen is kept when the screen is resized, unless the user set a size.
local function follow_the_screen()
  for win, at in pairs(placed) do
    if not vim.api.nvim_win_is_valid(win) then
      placed[win] = nil
    elseif not chosen_size then
      local vertical = orientation()
      at.size = wanted_size(vertical)
      resize(win, vertical, at.size)
    end
  end
end

---@return integer win
local function open_window(buf)
  local vertical, side = orientation()
  local at = {
    others = window.sizes(0),
    size = wanted_size(vertical),
  }
  local win = vim.api.nvim_open_win(buf, false, {
    win = -1,
    split = SPLIT[side],
    width = vertical and at.size or nil,
    height = not vertical and at.size or nil,
  })
  resize(win, vertical, at.size)
  vim.api.nvim_set_option_value(
    vertical and "winfixwidth" or "winfixheight",
    true,
    { scope = "local", win = win }
  )
  if vim.o.equalalways then
    vim.cmd((vertical and "horizontal" or "vertical") .. " wincmd =") -- else only the adjacent window shrinks
  end
  at.size = actual_size(win, vertical)
  placed[win] = at
  vim.api.nvim_create_autocmd("VimResized", {
    group = vim.api.nvim_create_augroup("claude-ide.terminal.native", { clear = true }),
    callback = follow_the_screen,
    desc = "Claude Code: keep the terminal's share of the screen",
  })
  return win
end

local function close_window(win)
  local at = placed[win]
  placed[win] = nil
  local vertical = orientation()
  local splits = window.splits
  local tab = vim.api.nvim_win_get_tabpage(win)
  if at and actual_size(win, vertical) ~= at.size and #splits(tab) > 1 then
    chosen_size = actual_size(win, vertical)
  end
  window.close(win)
  if at and vim.api.nvim_tabpage_is_valid(tab) then
    window.restore_sizes(tab, at.others)
  end
end

return require("claude-ide.terminal.provider.embedded").provider({
  open_window = open_window,
  close_window = close_window,
})
