-- Splits of ours among the user's: opens and closes them, gives them the room that they want, and gives the room back.
-- Invariants: only this module sizes splits (`make lint`). Only what is beside each other in the tree of splits (`winlayout()`) has sizes,
-- and the last one takes the rest: sizing a window that stands alone would size the command line. Sizes are restored in the same tree
-- only. A window keeps the size that the user gave it. A smaller one, for lack of room or for another window's zoom, is not the user's.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
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

---Where a window is, and the room that it wants there.
---@class claude-ide.ui.Side
---@field side "left"|"right"|"top"|"bottom" of the screen, where all give room; or of `beside`
---@field beside? integer another window, which gives room
---@field size number|fun(win: integer): integer a share of the room, or cells; the function gets `beside` as long as there is no window
---@field least { columns: integer, lines: integer } minimum of the window, and of the rest
---@field rest? integer another minimum of the rest
---@field fixed? boolean Neovim does not size it together with others; at a side the size that a user gave it is the next one's

---A window that keeps its room: a share of the screen, or its cells beside another window.
---@class claude-ide.ui.AtSide
---@field axis claude-ide.ui.Axis
---@field wanted claude-ide.ui.Side
---@field given? number as the user has sized it: a share, or cells beside another window
---@field cells integer size when all splits had `total` cells, with what is beside it along the axis
---@field total integer
---@field before? claude-ide.ui.Layout
---@field after? claude-ide.ui.Layout as it was made by this module, or by Neovim for a screen of another size
---@field made? integer its cells then

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
---@return claude-ide.ui.AtSide
local function new(wanted)
  local axis = (wanted.side == "left" or wanted.side == "right") and WIDTH or HEIGHT
  local share = wanted.fixed and not wanted.beside and given[axis.total] or nil
  return { axis = axis, wanted = wanted, given = share, cells = 0, total = 0 }
end

---The cells of all splits of its tab page.
---@param win integer
---@param at claude-ide.ui.AtSide
---@return integer
local function total_of(win, at)
  local layout = M.layout(vim.api.nvim_win_get_tabpage(win))
  return extent(layout.tree, at.axis, layout[at.axis.along])
end

---Whether it is where it was opened: beside others along its axis, and on that side of the window that gives it room.
---@param win integer
---@param at claude-ide.ui.AtSide
---@return boolean
local function stands(win, at)
  if not vim.api.nvim_win_is_valid(win) then
    return false
  end
  local host, tab = at.wanted.beside, vim.api.nvim_win_get_tabpage(win)
  if not host then
    return at.axis.get(win) < total_of(win, at)
  elseif not vim.api.nvim_win_is_valid(host) or vim.api.nvim_win_get_tabpage(host) ~= tab then
    return false
  end
  local across = at.axis == WIDTH and HEIGHT or WIDTH
  local own, its = vim.api.nvim_win_get_position(win), vim.api.nvim_win_get_position(host)
  local shift, is_after = own[across.at] - its[across.at], own[at.axis.at] > its[at.axis.at]
  local wanted_after = at.wanted.side == "right" or at.wanted.side == "bottom"
  return is_after == wanted_after and shift >= 0 and shift < across.get(host)
end

---The cells of which it has a part.
---@param at claude-ide.ui.AtSide
---@param win? integer nil: not open
---@return integer
local function room_of(at, win)
  local host = at.wanted.beside
  if not host then
    return vim.o[at.axis.total] --[[@as integer]]
  end
  return at.axis.get(host) + (win and at.axis.get(win) + 1 or 0)
end

---@param at claude-ide.ui.AtSide
---@param win? integer nil: not open
---@return integer
local function cells_of(at, win)
  local wanted, room = at.wanted, room_of(at, win)
  local least, cells = wanted.least[at.axis.total], at.given or wanted.size ---@type integer, number|fun(win: integer): integer
  if type(cells) == "function" then
    cells = cells(win or wanted.beside --[[@as integer]])
  end
  cells = cells < 1 and math.floor(room * cells + 0.5) or math.floor(cells)
  local own_least = math.min(least, math.floor(room / 2))
  if at.given and not wanted.beside then
    own_least = math.min(own_least, cells)
  end
  return math.max(math.min(cells, room - (wanted.rest or least)), own_least, 1)
end

---The cells of windows that it has given room along the axis.
---@param win integer
---@param at claude-ide.ui.AtSide
---@return integer
local function given_away(win, at)
  local cells = 0
  for other, its in pairs(at_side) do
    if its.wanted.beside == win and its.axis == at.axis and stands(other, its) then
      cells = cells + at.axis.get(other) + 1
    end
  end
  return cells
end

---@param win integer
---@param at claude-ide.ui.AtSide
local function measure(win, at)
  at.cells, at.total = at.axis.get(win) + given_away(win, at), total_of(win, at)
end

---Whether it has no more than Neovim leaves to each window.
---@param win integer
---@param at claude-ide.ui.AtSide
---@return boolean
local function is_squeezed(win, at)
  local least = vim.o["winmin" .. at.axis.size] --[[@as integer]]
  return at.axis.get(win) <= least + (at.axis == HEIGHT and 1 or 0) -- with a winbar
end

---Notes a size that the user has set.
---@param win integer
---@param at claude-ide.ui.AtSide which stands
local function note(win, at)
  local cells = at.axis.get(win) + given_away(win, at)
  if at.total ~= total_of(win, at) or at.cells == cells then
    return
  elseif is_squeezed(win, at) then
    at.given = not at.wanted.beside and at.given or nil
  else
    at.cells, at.given = cells, nil
    at.given = cells ~= cells_of(at, win) and (at.wanted.beside and cells or cells / room_of(at)) or nil
  end
end

---Gives a window what it wants, from the one that it is beside, else from those next to it.
---@param win integer
---@param at claude-ide.ui.AtSide
local function fit(win, at)
  local cells, host = cells_of(at, win) - given_away(win, at), at.wanted.beside
  local more = cells - at.axis.get(win)
  if more ~= 0 then
    local left = host and vim.api.nvim_win_is_valid(host) and math.max(at.axis.get(host) - more, 1)
    at.axis.set(win, cells)
    if host and left then
      at.axis.set(host, left) -- Neovim has taken from those behind it, if there are any
    end
    if at.axis == HEIGHT and vim.api.nvim_win_text_height(win, {}).all < cells then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview({ topline = 1 }) -- there is room for all of it
      end)
    end
  end
  measure(win, at)
end

---Keeps all sizes where the room is another one, as on another screen: Neovim sizes only the windows at its right and bottom. Those of
---another tab page are sized when it is entered.
local function keep_sizes()
  local tab, is_one_here = vim.api.nvim_get_current_tabpage(), false
  local wanted = { row = {}, col = {} } ---@type table<"row"|"col", table<integer, integer>>
  local beside = {} ---@type table<integer, claude-ide.ui.AtSide>
  for win, at in pairs(at_side) do
    local is_here = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win) == tab
    if not vim.api.nvim_win_is_valid(win) then
      at_side[win] = nil
    elseif is_here and not stands(win, at) then
      at.total = 0 -- what it gets when it stands there again is not of the user's making
    elseif is_here then
      note(win, at)
      is_one_here = true
      local is_other_room = at.total ~= total_of(win, at)
      if at.wanted.beside then
        beside[win] = (is_other_room or not at.given and not is_squeezed(win, at)) and at or nil
      elseif is_other_room then
        wanted[at.axis.along][win] = math.max(cells_of(at, win) - given_away(win, at), 1)
      end
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
      measure(win, at)
      at.after, at.made = M.layout(0), at.cells
    end
  end
  for win, at in pairs(beside) do
    fit(win, at)
  end
  latest[tab] = is_one_here and M.layout(0) or nil
end

---@param win integer
local function leave_to_user(win)
  at_side[win] = nil
  vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false
end

local function leave_windows_of_files()
  for win, at in pairs(at_side) do
    if
      at.wanted.fixed
      and vim.api.nvim_win_is_valid(win)
      and not buffer_marks.kind(vim.api.nvim_win_get_buf(win))
    then
      leave_to_user(win)
    end
  end
end

local listen = require("claude-ide.base.once")(function()
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.ui.split.files", { clear = true }),
    desc = "Claude Code: leave windows that show a file to the user",
    callback = vim.schedule_wrap(leave_windows_of_files), -- a prompt gives files another window
  })
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "TabEnter" }, {
    group = vim.api.nvim_create_augroup("claude-ide.ui.split", { clear = true }),
    desc = "Claude Code: keep the room of windows",
    callback = safely.wrap("keep the room of windows", keep_sizes),
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
  local before = new(wanted).axis
  if mods.split == "" and axis == before then
    return wanted
  end
  local size = wanted.size
  if axis ~= before and type(size) == "number" and size >= 1 then
    size = math.min(size / vim.o[before.total], 0.5)
  end
  local there = { side = SIDE[modifiers.direction(mods)], size = size }
  return vim.tbl_extend("force", wanted, there) --[[@as claude-ide.ui.Side]]
end

---Opens a window, which keeps its room. At a side of the screen all others give some in proportion to their sizes, except those of a
---fixed size.
---@param buf integer
---@param wanted claude-ide.ui.Side
---@return integer win not entered
function M.open(buf, wanted)
  if not wanted.beside and modifiers.opens_tab() then
    return modifiers.open(buf) --[[@as integer]]
  end
  local mods = not wanted.beside and modifiers.take() or nil
  wanted = mods and moved(wanted, mods) or wanted
  local at, before = new(wanted), M.layout(0)
  local axis, cells = at.axis, cells_of(at)
  local win ---@type integer
  M.keeping_sizes(function()
    local place = { win = wanted.beside or -1, split = SPLIT[wanted.side], [axis.size] = cells }
    win = vim.api.nvim_open_win(buf, false, place)
    at_side[win] = at
    if not wanted.beside then
      distribute(0, axis, vim.tbl_extend("force", before[axis.along], { [win] = cells }))
      at.before, at.after, at.made = before, M.layout(0), axis.get(win)
    end
    measure(win, at)
  end)
  vim.wo[win][0]["winfix" .. axis.size] = wanted.fixed or false
  listen()
  keep_sizes()
  return win
end

---Opens a window at the bottom of the screen, or where the modifiers of the command say, and enters it.
---@param buf integer
---@param size number a share of the room, or lines
function M.enter_below(buf, size)
  local wanted = { side = "bottom", size = size, least = { columns = 1, lines = 6 } }
  window.enter(modifiers.open(buf) or M.open(buf, wanted))
end

---A window that is open keeps its room from now on, as if it had been opened there.
---@param win integer
---@param wanted claude-ide.ui.Side
function M.keep(win, wanted)
  local at = at_side[win]
  if at and at.wanted.beside == wanted.beside then
    return
  end
  at = new(wanted)
  at_side[win] = at
  if wanted.beside then
    fit(win, at)
  else
    at.total, at.after = total_of(win, at), M.layout(0)
    if stands(win, at) then
      note(win, at)
    end
    at.made = at.cells
  end
end

---Call when what a window wants may have changed: it gets that, unless the user has sized it.
---@param win integer
function M.fit(win)
  local at = at_side[win]
  if at and stands(win, at) then
    note(win, at)
    if not at.given or is_squeezed(win, at) then
      fit(win, at)
    end
  end
end

---Whether the user has given other windows more room since a window was opened. Neovim itself widens the current one to 'winwidth'.
---@param at claude-ide.ui.AtSide
---@param now claude-ide.ui.Layout
---@return boolean
local function has_sized_others(at, now)
  local after = at.after --[[@as claude-ide.ui.Layout]]
  if at.made ~= at.cells then
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
  leave_to_user(win)
  vim.wo[win][0].winfixbuf = false
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
    if at and not at.wanted.beside then
      if stands(win, at) then
        note(win, at)
      end
      if at.wanted.fixed then
        given[at.axis.total] = at.given
      end
      before = not has_sized_others(at, layout) and at.before or nil
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
  local at, seen = new(wanted), {} ---@type claude-ide.ui.AtSide, table<integer, true>
  local axis, rest = at.axis, room_of(at) - cells_of(at)
  for _, win in ipairs(window.splits(0)) do
    local begins = vim.api.nvim_win_get_position(win)[axis.at]
    if not seen[begins] and is_ours(win) then
      seen[begins], rest = true, rest - axis.get(win)
    end
  end
  return rest >= wanted.least[axis.total]
end

return M
