-- Fills a transcript's buffer: requests rows drawn, and shows them in short time slices so that no key waits. First the newest rows,
-- then earlier ones above them, up to a limit that the user can raise. `painter` highlights what is near a window.
-- Invariant: at most one request is pending, and a response to an older state of the transcript is dropped.

local painter = require("claude-ide.transcript.painter")
local render = require("claude-ide.transcript.render")
local slice = require("claude-ide.base.slice")
local while_open = require("claude-ide.transcript.while_open")
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local render_order = lazy("claude-ide.transcript.render_order")
local waits = lazy("claude-ide.base.waits")
local winbar = lazy("claude-ide.transcript.winbar")

local M = {}

---Rows per request: of those that the user waits for, and of others.
local ROWS, MORE_ROWS = 24, 200
---Lines of earlier rows that are added at once.
local PIECE = 200
---Lines of the newest messages that are loaded unasked.
M.LINES = 20000

---Whether lines may come and go: not when the next key acts on a range whose start would not move along. The canvas keeps a
---visual selection, and a motion waits for its own request.
---@param view claude-ide.transcript.View
---@param key string id of the waiting entry
---@param again fun() called when they may, if not now
---@return boolean
function M.may_change(view, key, again)
  local function is_blocked()
    local range = waits.pending_range(view.buf)
    return range ~= nil and range ~= "visual"
  end
  if view.moving or not is_blocked() then
    return true
  end
  waits.when_text_may_change(("transcript %d %s"):format(view.buf, key), again, is_blocked)
  return false
end

---Earlier rows of a response, as many as make a piece.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@param drawn table<integer, claude-ide.transcript.Drawn> by row
---@param at integer
---@return integer at the next one
local function put_earlier(view, rows, drawn, at)
  local earlier, lines, row = {}, 0, rows[at]
  while drawn[row] and rows[at] == row and lines < PIECE do
    earlier[#earlier + 1] = drawn[row]
    for _, item in ipairs(drawn[row].items) do
      lines = lines + #item.lines
    end
    painter.want(view, row)
    at, row = at + 1, row - 1
  end
  view.canvas:prepend(earlier)
  return at
end

---@param view claude-ide.transcript.View
---@param rows integer[]
---@param drawn table<integer, claude-ide.transcript.Drawn> by row
---@param at integer
---@return integer at the next one
local function put(view, rows, drawn, at)
  local canvas, row = view.canvas, rows[at]
  if drawn[row] and row == canvas.first - 1 then
    return put_earlier(view, rows, drawn, at)
  elseif drawn[row] and (canvas.rows[row] or row == canvas.stop and row < canvas.heights:len()) then
    canvas:put(row, drawn[row])
    painter.want(view, row)
  end
  return at + 1
end

---@param view claude-ide.transcript.View
---@param rows integer[]
---@param drawn table<integer, claude-ide.transcript.Drawn> by row
---@param from integer
local function show(view, rows, drawn, from)
  local generation, canvas = view.generation, view.canvas
  local function go_on()
    if not while_open.is_alive(view, canvas) then
      return
    elseif generation == view.generation then
      show(view, rows, drawn, from)
    else
      view.busy = false
      M.update(view)
    end
  end
  if not M.may_change(view, "rows", go_on) then
    return
  end
  local at = from
  view.canvas:edit(function()
    local is_over = slice.begin()
    repeat
      at = put(view, rows, drawn, at)
    until at > #rows or is_over()
  end)
  if at <= #rows then
    from = at
    while_open.later(view, go_on)
    return
  end
  view.busy = false
  if rows[1] >= canvas.heights:len() - ROWS then
    winbar.refresh(view) -- earlier rows change nothing there
  end
  while_open.later(view, function()
    M.update(view)
  end)
end

---@param view claude-ide.transcript.View
---@param err? string
local function failed(view, err)
  view.busy = false
  if err then
    log.debug("a question to a transcript failed: %s", err)
  end
  if view.again then
    view.again = false
    M.update(view)
  end
end

---@param view claude-ide.transcript.View
---@param rows integer[]
local function ask(view, rows)
  local generation, canvas = view.generation, view.canvas
  view.busy = true
  canvas:expect()
  render.draw(view, rows, function(drawn, err)
    if not while_open.is_alive(view, canvas) then
      return
    elseif not drawn or not next(drawn) or generation ~= view.generation then
      view.again = view.again or generation ~= view.generation
      return failed(view, err)
    end
    while_open.guarded(view, function()
      show(view, rows, drawn, 1)
    end)
  end)
end

---@param rows integer[] to append to
---@param first integer
---@param last integer
---@param step 1|-1
---@param most integer
local function add(rows, first, last, step, most)
  for row = first, last, step do
    if #rows >= most then
      return
    end
    rows[#rows + 1] = row
  end
end

---The rows that the user waits for: stale ones near the windows, and new ones.
---@param view claude-ide.transcript.View
---@return integer[]
function M.urgent(view)
  local canvas = view.canvas
  local rows = {}
  for _, row in ipairs(canvas.stale > 0 and render_order.near(canvas) or {}) do
    if canvas.rows[row].stale and #rows < ROWS then
      rows[#rows + 1] = row
    end
  end
  add(rows, canvas.stop, canvas.heights:len() - 1, 1, ROWS)
  return rows
end

---Other rows to draw: stale ones, and earlier ones until there are enough. A text that has several rows is loaded whole.
---@param view claude-ide.transcript.View
---@return integer[]
function M.others(view)
  local canvas = view.canvas
  local rows = {}
  if canvas.stale > 0 then
    for row = canvas.stop - 1, canvas.first, -1 do
      if canvas.rows[row].stale and #rows < MORE_ROWS then
        rows[#rows + 1] = row
      end
    end
    return rows
  end
  local top = canvas.rows[canvas.first]
  if
    canvas:lines() < (view.wanted_lines or M.LINES)
    or canvas.first > (view.wanted_row or canvas.first)
    or top and top.row.continues
  then
    add(rows, canvas.first - 1, 0, -1, top and MORE_ROWS or ROWS)
  end
  return rows
end

---Calls those who wait for rows that are there now.
---@param view claude-ide.transcript.View
local function tell_loaded(view)
  local canvas, waiting = view.canvas, view.when_loaded
  view.when_loaded = {}
  for _, one in ipairs(waiting) do
    if one.row >= canvas.first and one.row < canvas.stop then
      one.done()
    else
      table.insert(view.when_loaded, one)
    end
  end
end

---Draws what is missing or stale: what the user waits for, then the rest.
---@param view claude-ide.transcript.View
function M.update(view)
  if not while_open.is_alive(view) or not view.source:info() then
    return
  elseif view.busy then
    view.again = true
    return
  end
  view.again = false
  tell_loaded(view)
  if view.busy or #vim.fn.win_findbuf(view.buf) == 0 then
    return
  end
  local rows = M.urgent(view)
  if #rows == 0 and next(view.canvas.rows) then
    M.colour(view)
  end
  if #rows == 0 and not view.colouring then
    rows = M.others(view)
  end
  if #rows > 0 then
    ask(view, rows)
  end
end

---Forgets what is to be done with rows: they have other numbers now.
---@param view claude-ide.transcript.View
function M.forget(view)
  view.uncoloured, view.when_loaded, view.wanted_row = {}, {}, nil
end

---Loads as many lines of earlier messages as there are already.
---@param view claude-ide.transcript.View
function M.load_more(view)
  view.wanted_lines = 2 * math.max(view.canvas:lines(), M.LINES / 2)
  M.update(view)
end

---Loads all from a row on.
---@param view claude-ide.transcript.View
---@param row integer
---@param done fun() called when it is in the buffer; not if the rows are replaced before
function M.load(view, row, done)
  if view.canvas.rows[row] then
    return done()
  end
  view.wanted_row = math.min(view.wanted_row or row, row)
  table.insert(view.when_loaded, { row = row, done = done })
  M.update(view)
end

---Highlights what is near a window, then continues with other rows.
---@param view claude-ide.transcript.View
function M.colour(view)
  painter.colour(view, M.update)
end

---Renders the row with this item again, if it is rendered.
---@param view claude-ide.transcript.View
---@param key string of the item
function M.show_again(view, key)
  if not while_open.is_alive(view) then
    return
  end
  for row, rendered in pairs(view.canvas.rows) do
    for _, item in ipairs(rendered.items) do
      if item.key == key then
        view.canvas:mark_stale(row)
      end
    end
  end
  M.update(view)
end

return M
