-- Splits of ours among the user's: opens and closes them, gives them room, and gives the room back.
-- Invariants: only what is beside each other in the tree of splits (`winlayout()`) has sizes, and the last one takes the rest: sizing a
-- window that stands alone would size the command line. Sizes are restored in the same tree only.
local lazy = require("claude-ide.lazy")
local modifiers = lazy("claude-ide.ui.modifiers")
local option = lazy("claude-ide.base.option")
local safely = lazy("claude-ide.base.safely")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.ui.Axis
---@field along "row"|"col" what stands along it, in the tree
---@field total "columns"|"lines" option
---@field size "width"|"height"
---@field at 1|2 index of a window's position
---@field get fun(win: integer): integer
---@field set fun(win: integer, cells: integer)

---@param along "row"|"col"
---@param total "columns"|"lines"
---@param size "width"|"height"
---@param at 1|2
---@return claude-ide.ui.Axis
local function new_axis(along, total, size, at)
  local get = vim.api["nvim_win_get_" .. size] --[[@as fun(win: integer): integer]]
  local set = vim.api["nvim_win_set_" .. size] --[[@as fun(win: integer, cells: integer)]]
  return { along = along, total = total, size = size, at = at, get = get, set = set }
end

local WIDTH, HEIGHT = new_axis("row", "columns", "width", 2), new_axis("col", "lines", "height", 1)

---The splits of a tab page and their sizes. `winrestcmd()` also has the sizes of floats, which it gives to other windows once those are
---closed.
---@class claude-ide.ui.Layout
---@field tree table of `winlayout()`
---@field room string what all splits together may take
---@field row table<integer, integer> widths
---@field col table<integer, integer> heights

---A side of the screen, and the room that is wanted there.
---@class claude-ide.ui.Side
---@field side "left"|"right"|"top"|"bottom"
---@field size number a share of the screen, or cells
---@field least { columns: integer, lines: integer } minimum of the window, and of the rest
---@field fixed? boolean Neovim does not size it together with others; the size that a user gave it is the next one's

---A window at a side of the screen, which keeps its share.
---@class claude-ide.ui.AtSide
---@field axis claude-ide.ui.Axis
---@field wanted claude-ide.ui.Side
---@field share? number as the user has sized it
---@field cells integer size when the screen had `total` cells
---@field total integer
---@field before? claude-ide.ui.Layout
---@field after? claude-ide.ui.Layout as it was made by this module, or by Neovim for a screen of another size

---@type table<integer, claude-ide.ui.AtSide> by window
local at_side = {}

---@type table<integer, claude-ide.ui.Layout?> before the screen gets another size, by tab page with such a window
local latest = {}

---@type table<string, number?> shares of the screen that the user gave to fixed windows, by option
local given = {}

---@param tab integer 0: current
---@return claude-ide.ui.Layout
function M.layout(tab)
  local layout = {
    tree = vim.fn.winlayout(vim.api.nvim_tabpage_get_number(tab)),
    room = ("%dx%d-%d %d"):format(vim.o.columns, vim.o.lines, vim.o.cmdheight, vim.o.laststatus),
    row = {},
    col = {},
  }
  for _, win in ipairs(window.splits(tab)) do
    layout.row[win], layout.col[win] = WIDTH.get(win), HEIGHT.get(win)
  end
  return layout
end

---The cells that a part of the tree takes, with the lines between its windows.
---@param tree table
---@param axis claude-ide.ui.Axis
---@param sizes table<integer, integer>
---@return integer
local function extent(tree, axis, sizes)
  if tree[1] == "leaf" then
    return sizes[tree[2]]
  elseif tree[1] ~= axis.along then
    return extent(tree[2][1], axis, sizes)
  end
  local cells = #tree[2] - 1
  for _, part in ipairs(tree[2]) do
    cells = cells + extent(part, axis, sizes)
  end
  return cells
end

---Whether a part of the tree keeps its size when others give or get room.
---@param tree table
---@param axis claude-ide.ui.Axis
---@return boolean
local function is_fixed(tree, axis)
  if tree[1] == "leaf" then
    local at = at_side[tree[2]]
    return at ~= nil and at.axis == axis or vim.wo[tree[2]]["winfix" .. axis.size]
  end
  local found = vim.tbl_map(function(part)
    return is_fixed(part, axis)
  end, tree[2])
  if tree[1] == axis.along then
    return not vim.list_contains(found, false)
  end
  return vim.list_contains(found, true)
end

---Divides room among parts of the tree.
---@param parts table[]
---@param axis claude-ide.ui.Axis
---@param room integer
---@param sizes table<integer, integer> wanted; if the sum is another one, the parts differ in proportion to them
---@param first_differs? boolean only the first part does
---@return integer[] cells
local function divide(parts, axis, room, sizes, first_differs)
  local cells, gives, sum = {}, {}, 0 ---@type integer[], table<integer, boolean>, integer
  for at, part in ipairs(parts) do
    cells[at] = extent(part, axis, sizes)
    gives[at] = first_differs and at == 1 or not first_differs and not is_fixed(part, axis)
    sum, room = sum + (gives[at] and cells[at] or 0), room - (gives[at] and 0 or cells[at])
  end
  for at, size in ipairs(cells) do
    if gives[at] then
      cells[at] = math.max(math.floor(size * room / math.max(sum, 1) + 0.5), 1)
      sum, room = sum - size, room - cells[at]
    end
  end
  return cells
end

---A window as wide, or high, as a part of the tree, if there is one.
---@param tree table
---@param axis claude-ide.ui.Axis
---@return integer win
local function spanning(tree, axis)
  if tree[1] == "leaf" then
    return tree[2]
  end
  for _, part in ipairs(tree[1] ~= axis.along and tree[2] or {}) do
    if part[1] == "leaf" then
      return part[2]
    end
  end
  return spanning(tree[2][1], axis)
end

---Sizes the windows of a part of the tree, from the outside.
---@param tree table
---@param axis claude-ide.ui.Axis
---@param room integer
---@param sizes table<integer, integer> see `divide`
---@param first_differs? boolean
local function resize(tree, axis, room, sizes, first_differs)
  if tree[1] == "leaf" then
    return
  end
  local parts, cells = tree[2], {} ---@type table[], integer[]
  if tree[1] == axis.along then
    cells = divide(parts, axis, room - #parts + 1, sizes, first_differs)
  end
  for at = 1, #cells - 1 do
    axis.set(spanning(parts[at], axis), cells[at])
  end
  for at, part in ipairs(parts) do
    resize(part, axis, cells[at] or room, sizes, first_differs)
  end
end

---@param tab integer 0: current
---@param axis claude-ide.ui.Axis
---@param sizes table<integer, integer> see `divide`; default: the present ones
---@param first_differs? boolean
local function distribute(tab, axis, sizes, first_differs)
  local now = M.layout(tab)
  local present = now[axis.along]
  vim.api.nvim_win_call(
    vim.api.nvim_tabpage_get_win(tab),
    function() -- else the windows of the current tab page would be moved
      local room = extent(now.tree, axis, present)
      resize(now.tree, axis, room, vim.tbl_extend("force", present, sizes), first_differs)
    end
  )
end

---Restores sizes, unless the tab page has another tree of splits by now or more or less room for them. A tab line is made room for by
---the windows below it.
---@param tab integer a valid one; 0: current
---@param layout claude-ide.ui.Layout
---@return boolean is_same tree and room are as they were
function M.restore(tab, layout)
  local now = M.layout(tab)
  if now.room ~= layout.room or not vim.deep_equal(now.tree, layout.tree) then
    return false
  elseif not vim.deep_equal(now, layout) then
    distribute(tab, WIDTH, layout.row, true)
    distribute(tab, HEIGHT, layout.col, true)
  end
  return true
end

---Opens, closes or sizes windows; cursors stay, which other values of 'splitkeep' move in windows that get low.
---@generic T
---@param fn fun(): T
---@return T
function M.keeping_cursors(fn)
  return option.during("splitkeep", "cursor", fn)
end

---Opens or closes windows without sizing others than those beside them.
---@generic T
---@param fn fun(): T
---@return T
function M.keeping_sizes(fn)
  return M.keeping_cursors(function()
    local ok, result, layout ---@type boolean, any, claude-ide.ui.Layout
    option.during("equalalways", false, function()
      ok, result = pcall(fn)
      layout = M.layout(0)
    end)
    M.restore(0, layout) -- Neovim has evened all windows, as always when that option is switched on
    if not ok then
      error(result, 0)
    end
    return result
  end)
end

---Sets a height, unless the window is as high as the screen.
---@param win integer
---@param lines integer
function M.set_height(win, lines)
  local layout = M.layout(vim.api.nvim_win_get_tabpage(win))
  if HEIGHT.get(win) < extent(layout.tree, HEIGHT, layout.col) then
    HEIGHT.set(win, lines)
  end
end

---Gives two windows beside each other, or one above the other, the same size.
---@param first integer
---@param second integer
function M.even(first, second)
  if vim.api.nvim_win_get_position(first)[1] == vim.api.nvim_win_get_position(second)[1] then
    WIDTH.set(first, math.floor((WIDTH.get(first) + WIDTH.get(second)) / 2))
  else
    M.set_height(first, math.floor((HEIGHT.get(first) + HEIGHT.get(second)) / 2))
  end
end

---@param wanted claude-ide.ui.Side
---@return claude-ide.ui.Axis
local function axis_of(wanted)
  return (wanted.side == "left" or wanted.side == "right") and WIDTH or HEIGHT
end

---@param wanted claude-ide.ui.Side
---@param share? number as the user has sized it
---@return integer
local function cells_of(wanted, share)
  local axis, size = axis_of(wanted), wanted.size
  local total, least = vim.o[axis.total], wanted.least[axis.total] ---@type integer, integer
  if share then
    return math.max(math.floor(total * share + 0.5), 1)
  end
  local cells = size < 1 and math.floor(total * size + 0.5) or math.floor(size)
  return math.max(math.min(cells, total - least), math.min(least, math.floor(total / 2)), 1)
end

---Notes a size that the user has set.
---@param win integer
---@param at claude-ide.ui.AtSide
local function note(win, at)
  local cells, total = at.axis.get(win), vim.o[at.axis.total]
  local is_alone = #window.splits(vim.api.nvim_win_get_tabpage(win)) == 1
  if at.total == total and at.cells ~= cells and not is_alone then
    at.cells, at.share = cells, cells ~= cells_of(at.wanted) and cells / total or nil
  end
end

---Keeps all shares of a screen that has got another size: Neovim sizes only the windows at its right and bottom. Those of another tab page
---are sized when it is entered.
local function keep_shares()
  local tab, is_one_here = vim.api.nvim_get_current_tabpage(), false
  local wanted = { row = {}, col = {} } ---@type table<"row"|"col", table<integer, integer>>
  for win, at in pairs(at_side) do
    if not vim.api.nvim_win_is_valid(win) then
      at_side[win] = nil
    elseif vim.api.nvim_win_get_tabpage(win) == tab then
      note(win, at)
      is_one_here = true
      wanted[at.axis.along][win] = at.total ~= vim.o[at.axis.total] and cells_of(at.wanted, at.share) or nil
    end
  end
  for _, axis in ipairs({ WIDTH, HEIGHT }) do
    local sizes = wanted[axis.along] --[[@as table<integer, integer>]]
    local before = latest[tab] or M.layout(0)
    if next(sizes) then
      distribute(0, axis, vim.tbl_extend("force", before[axis.along], sizes))
    end
    for win in pairs(sizes) do
      local at = at_side[win]
      at.cells, at.total, at.after = axis.get(win), vim.o[axis.total], M.layout(0)
    end
  end
  latest[tab] = is_one_here and M.layout(0) or nil
end

local listen = require("claude-ide.base.once")(function()
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "TabEnter" }, {
    group = vim.api.nvim_create_augroup("claude-ide.ui.split", { clear = true }),
    desc = "Claude Code: keep the windows' share of the screen",
    callback = safely.wrap("keep a window's share of the screen", keep_shares),
  })
end)

local SPLIT = { left = "left", right = "right", top = "above", bottom = "below" }
local SIDE = { left = "left", right = "right", above = "top", below = "bottom" }

---The side that the modifiers of a command ask for. A direction alone keeps a side of its own.
---@param wanted claude-ide.ui.Side
---@param mods claude-ide.ui.Modifiers
---@return claude-ide.ui.Side
local function moved(wanted, mods)
  local axis = mods.vertical and WIDTH or HEIGHT
  local before = axis_of(wanted)
  if mods.split == "" and axis == before then
    return wanted
  end
  local size = wanted.size
  if axis ~= before and size >= 1 then
    size = math.min(size / vim.o[before.total], 0.5)
  end
  local side = SIDE[modifiers.direction(mods)]
  return { side = side, size = size, least = wanted.least, fixed = wanted.fixed }
end

---Opens a window at a side of the screen, where it keeps its share. All others give room in proportion to their sizes, except those of a
---fixed size.
---@param buf integer
---@param wanted claude-ide.ui.Side
---@return integer win not entered
function M.open_at_side(buf, wanted)
  if modifiers.opens_tab() then
    return modifiers.open(buf) --[[@as integer]]
  end
  local mods = modifiers.take()
  wanted = mods and moved(wanted, mods) or wanted
  local axis, before = axis_of(wanted), M.layout(0)
  local share = wanted.fixed and given[axis.total] or nil
  local cells = cells_of(wanted, share)
  local win ---@type integer
  M.keeping_sizes(function()
    local place = { win = -1, split = SPLIT[wanted.side], [axis.size] = cells }
    win = vim.api.nvim_open_win(buf, false, place)
    ---@type claude-ide.ui.AtSide
    local at = { axis = axis, wanted = wanted, share = share, cells = cells, total = vim.o[axis.total] }
    at_side[win] = at
    distribute(0, axis, vim.tbl_extend("force", before[axis.along], { [win] = cells }))
    at.cells, at.before, at.after = axis.get(win), before, M.layout(0)
  end)
  vim.wo[win][0]["winfix" .. axis.size] = wanted.fixed or false
  listen()
  keep_shares()
  return win
end

---Whether the user has given other windows more room since a window was opened. Neovim itself widens the current one to 'winwidth'.
---@param win integer
---@param at claude-ide.ui.AtSide
---@param now claude-ide.ui.Layout
---@return boolean
local function has_sized_others(win, at, now)
  local after = at.after --[[@as claude-ide.ui.Layout]]
  if after[at.axis.along][win] ~= at.cells then
    return false -- that sized them
  end
  for _, axis in ipairs({ WIDTH, HEIGHT }) do
    local least = vim.o["win" .. axis.size] --[[@as integer]]
    for other, cells in pairs(now[axis.along]) do
      if cells > math.max(after[axis.along][other] or cells, least) then
        return true
      end
    end
  end
  return false
end

---Shows another buffer in the last window, which cannot be closed: it is the user's from now on.
---@param win integer
---@param buf? integer default: a listed one
function M.vacate(win, buf)
  local others = vim.list_extend({ vim.fn.bufnr("#") }, vim.api.nvim_list_bufs())
  buf = buf
    or vim.iter(others):find(function(other)
      return other > 0 and vim.bo[other].buflisted
    end)
    or vim.api.nvim_create_buf(true, false)
  at_side[win] = nil
  local wo = vim.wo[win]
  wo.winfixwidth, wo.winfixheight, wo[0].winfixbuf = false, false, false
  vim.api.nvim_win_set_buf(win, buf)
end

---Neovim 0.10 and 0.11 leave a separator behind the last window if that has a fixed width, until it gets another one.
---@param tab integer
local function drop_separator(tab)
  for win, width in pairs(M.layout(tab).row) do
    if vim.wo[win].winfixwidth then
      vim.api.nvim_win_call(win, function()
        WIDTH.set(win, width + 1)
        WIDTH.set(win, width)
      end)
    end
  end
end

---Closes windows of one tab page, those that are valid. The others get back the sizes that they had before; if the user has sized or
---moved some since, all get room in proportion to their sizes.
---@param wins integer[]
---@param force? boolean false: a window whose unsaved text would be lost is vacated instead
function M.close(wins, force)
  wins = vim.tbl_filter(vim.api.nvim_win_is_valid, wins)
  if not wins[1] then
    return
  end
  local tab = vim.api.nvim_win_get_tabpage(wins[1])
  local layout, before = M.layout(tab), nil ---@type claude-ide.ui.Layout, claude-ide.ui.Layout?
  for _, win in ipairs(wins) do
    local at = at_side[win]
    if at then
      note(win, at)
      if at.wanted.fixed then
        given[at.axis.total] = at.share
      end
      before = not has_sized_others(win, at, layout) and at.before or nil
    end
  end
  M.keeping_sizes(function()
    for _, win in ipairs(wins) do
      at_side[win] = nil
      if window.is_last(win) or not pcall(window.close, win, force) then
        M.vacate(win)
      end
    end
    if not vim.api.nvim_tabpage_is_valid(tab) then
      return
    end
    drop_separator(tab)
    if not before or not M.restore(tab, before) then
      distribute(tab, WIDTH, layout.row)
      distribute(tab, HEIGHT, layout.col)
    end
  end)
end

---Whether a window has room at a side, beside others of ours, with enough left for the user's.
---@param wanted claude-ide.ui.Side
---@param is_ours fun(win: integer): boolean
---@return boolean
function M.has_room(wanted, is_ours)
  local axis, seen = axis_of(wanted), {} ---@type claude-ide.ui.Axis, table<integer, true>
  local rest = vim.o[axis.total] - cells_of(wanted)
  for _, win in ipairs(window.splits(0)) do
    local begins = vim.api.nvim_win_get_position(win)[axis.at]
    if not seen[begins] and is_ours(win) then
      seen[begins], rest = true, rest - axis.get(win)
    end
  end
  return rest >= wanted.least[axis.total]
end

return M
