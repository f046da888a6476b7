-- Renders rows near the windows: requests them drawn, and shows them in short time slices so that no key waits. `painter`
-- highlights them when there is nothing else to do.
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

---Rows per request.
local ROWS = 24
---Maximum lines of rendered rows; and how many are rendered when idle, so that Neovim's text commands work on all of a transcript
---that is not huge.
M.KEPT_LINES, M.FILLED_LINES = 30000, 20000

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
      local row = rows[at]
      local one = view.known[row] and drawn[row]
      if one and row < view.canvas.heights:len() then
        view.canvas:answer(row, one.items)
        painter.want(view, row)
      end
      at = at + 1
    until at > #rows or is_over()
  end)
  if at <= #rows then
    from = at
    while_open.later(view, go_on)
    return
  end
  view.busy = false
  winbar.refresh(view)
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
    for row, one in pairs(drawn) do
      view.known[row] = one.row
    end
    while_open.guarded(view, function()
      show(view, rows, drawn, 1)
    end)
  end)
end

---Drops distant rows when there are too many: down to half the limit, so that it is rarely needed, and a few rows per turn, since
---each takes its marks along.
---@param view claude-ide.transcript.View
---@param ranges claude-ide.transcript.Range[]
local function forget_far(view, ranges)
  if not view.forgetting and view.canvas.lines <= M.KEPT_LINES then
    return
  end
  local far = render_order.far(view.canvas, ranges, M.KEPT_LINES / 2)
  view.forgetting = #far > 0
  if #far == 0 then
    return
  end
  view.full = true
  view.canvas:edit(function()
    local is_over = slice.begin()
    for _, row in ipairs(far) do
      view.canvas:drop(row)
      view.known[row], view.uncoloured[row] = nil, nil
      if is_over() then
        break
      end
    end
  end)
  local function go_on()
    if M.may_change(view, "far", go_on) then
      M.update(view)
    end
  end
  while_open.later(view, go_on)
end

---Distant rows to render when idle.
---@param view claude-ide.transcript.View
---@param ranges claude-ide.transcript.Range[]
---@return integer[]
local function rows_to_fill(view, ranges)
  local canvas = view.canvas
  local count = canvas.count
  if view.full or view.colouring or canvas.lines >= M.FILLED_LINES then
    return {}
  elseif count == canvas.heights:len() and canvas.stale == 0 then
    return {} -- all rows are rendered
  elseif view.filled_from == count then
    return {} -- the last request failed to render more
  end
  view.filled_from = count
  return render_order.around(canvas, ranges, ROWS)
end

---Renders missing rows near the windows, then gradually the rest.
---@param view claude-ide.transcript.View
function M.update(view)
  if not while_open.is_alive(view) or not view.source:info() then
    return
  elseif view.busy then
    view.again = true
    return
  end
  view.again = false
  local ranges = render_order.ranges(view.buf)
  if #ranges == 0 then
    return
  end
  local rows = render_order.wanted(view.canvas, ranges, ROWS)
  if #rows == 0 then
    forget_far(view, ranges)
    M.colour(view)
    rows = rows_to_fill(view, ranges)
  end
  if #rows > 0 then
    ask(view, rows)
  end
end

---Highlights what is rendered, then continues with distant rows.
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
