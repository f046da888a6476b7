-- Windows at a side of the screen that keep their share of it when its size changes. Neovim resizes only the windows at the right
-- and at the bottom.
local M = {}

---@class claude-ide.ui.ScreenShare
---@field is_vertical boolean share of the width, not the height
---@field cells integer size when the screen had `total` cells
---@field total integer
---@field share number unrounded, so that errors do not add up

---@type table<integer, claude-ide.ui.ScreenShare> by window
local kept = {}

local GROUP = "claude-ide.ui.screen_share"

local function screen(is_vertical)
  return is_vertical and vim.o.columns or vim.o.lines
end

local function size(win, is_vertical)
  return is_vertical and vim.api.nvim_win_get_width(win) or vim.api.nvim_win_get_height(win)
end

local function resize(win, is_vertical, cells)
  if is_vertical then
    vim.api.nvim_win_set_width(win, cells)
  else
    vim.api.nvim_win_set_height(win, cells)
  end
end

---Windows of the current tab page only: Neovim resizes those of other pages when they are entered.
---@param each fun(win: integer, at: claude-ide.ui.ScreenShare)
local function for_each(each)
  for win, at in pairs(kept) do
    if not vim.api.nvim_win_is_valid(win) then
      kept[win] = nil
    elseif vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      each(win, at)
    end
  end
  if not next(kept) then
    vim.api.nvim_create_augroup(GROUP, { clear = true })
  end
end

---Records sizes that the user set.
local function note()
  for_each(function(win, at)
    local cells, total = size(win, at.is_vertical), screen(at.is_vertical)
    if at.total == total and at.cells ~= cells then
      at.cells, at.share = cells, cells / total
    end
  end)
end

local function restore()
  for_each(function(win, at)
    local total = screen(at.is_vertical)
    if total == at.total then
      return
    end
    local cells = math.max(math.floor(at.share * total + 0.5), 1)
    resize(win, at.is_vertical, cells)
    at.cells, at.total = size(win, at.is_vertical), total
  end)
end

---The first window of each column, or row.
---@return integer[] wins
---@return table<integer, true> fixed those with a fixed size
local function columns(is_vertical)
  local layout, wins, fixed = vim.fn.winlayout(), {}, {}
  ---@type table[]
  local children = layout[1] == (is_vertical and "row" or "col") and layout[2] --[[@as table[] ]] or {}
  for _, child in ipairs(children) do
    while child[1] ~= "leaf" do
      child = child[2][1]
    end
    local win = child[2] --[[@as integer]]
    wins[#wins + 1] = win
    fixed[win] = vim.wo[win][is_vertical and "winfixwidth" or "winfixheight"] or nil
  end
  return wins, fixed
end

---Opens or closes a window at a side of the screen. All columns, or rows, give or get cells in proportion to their sizes, except those
---of a fixed size; Neovim resizes only the adjacent one.
---@generic T
---@param is_vertical boolean
---@param change fun(): T?
---@return T?
function M.fairly(is_vertical, change)
  local known = {} ---@type table<integer, integer>
  for _, win in ipairs((columns(is_vertical))) do
    known[win] = size(win, is_vertical)
  end
  local result = change()
  local wins, fixed = columns(is_vertical)
  for _, win in ipairs(wins) do
    if fixed[win] and known[win] then
      -- Neovim 0.10 and 0.11 leave a separator behind the last column if that has a fixed size, until it gets another one.
      resize(win, is_vertical, known[win] + 1)
      resize(win, is_vertical, known[win])
    end
  end
  local others, before, now = {}, 0, 0 ---@type integer[], integer, integer
  for _, win in ipairs(wins) do
    if known[win] and not fixed[win] then
      others[#others + 1] = win
      before, now = before + known[win], now + size(win, is_vertical)
    end
  end
  -- The last one takes the rest.
  for at = 1, #others - 1 do
    local cells = math.max(math.floor(known[others[at]] * now / before + 0.5), 1)
    resize(others[at], is_vertical, cells)
  end
  return result
end

---@param win integer
---@param is_vertical boolean keep the width, not the height
function M.keep(win, is_vertical)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  local cells, total = size(win, is_vertical), screen(is_vertical)
  kept[win] = { is_vertical = is_vertical, cells = cells, total = total, share = cells / total }
  local desc = "Claude Code: windows keep their share of the screen"
  vim.api.nvim_create_autocmd("WinResized", { group = group, callback = note, desc = desc })
  vim.api.nvim_create_autocmd(
    { "VimResized", "TabEnter" },
    { group = group, callback = restore, desc = desc }
  )
end

return M
