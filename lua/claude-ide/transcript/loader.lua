-- Brings what is near the windows onto the canvas: asks for rows and messages, renders them in turns short enough that no
-- key waits, and colours them when nothing else is to be done.
-- Invariant: one question is on its way at a time, and an answer to an older state of the transcript is dropped.

local M = {}

---Texts longer than this are cut, with a line that shows all of it.
M.MAX_TEXT = 16 * 1024
---Rows asked for at once, and bytes of the file behind the messages asked for at once.
local ROWS, BYTES = 24, 192 * 1024
---Rows looked at for the one shown before, past those that are for the model alone.
local BEFORE = 8
---How long a turn may take.
local BUDGET_NS = 7e6
---Lines of rendered rows that are kept.
local MAX_LINES = 30000

---@param view claude-ide.transcript.View
---@return boolean
local function is_alive(view)
  return not view.closed and vim.api.nvim_buf_is_valid(view.buf)
end

---@param view claude-ide.transcript.View
---@param fn fun()
local function guarded(view, fn)
  local ok, trace = xpcall(fn, debug.traceback)
  if not ok then
    view.busy, view.colouring = false, false
    require("claude-ide.log").error("a transcript cannot be shown: %s", trace)
  end
end

---Runs in a turn of its own, after keys and redraws that wait.
---@param view claude-ide.transcript.View
---@param fn fun()
local function later(view, fn)
  vim.defer_fn(function()
    if is_alive(view) then
      guarded(view, fn)
    end
  end, 1)
end

---@param view claude-ide.transcript.View
---@param row integer
---@return claude-ide.sessions.Row?
local function previous_of(view, row)
  local render = require("claude-ide.transcript.render")
  for before = row - 1, math.max(row - BEFORE, 0), -1 do
    local known = view.known[before]
    if known and not render.is_hidden(known) then
      return known
    end
  end
  return nil
end

---@param view claude-ide.transcript.View
---@param row integer
---@param message claude-ide.sessions.Message
---@return claude-ide.transcript.Item[]
local function render(view, row, message)
  require("claude-ide.transcript.agents").find(view, message, view.known[row])
  local ok, items = pcall(require("claude-ide.transcript.render").message, message, {
    row = view.known[row],
    previous = previous_of(view, row),
    cwd = view.cwd,
    source = view.file,
    message = message.id,
    agents = view.agents,
  })
  if ok then
    return items
  end
  require("claude-ide.log").error("a message cannot be shown: %s", items)
  local item = require("claude-ide.transcript.item").new("note", "broken")
  item:line("  This message cannot be shown (:Claude log tells why)", "ClaudeTranscriptNotice", 2)
  return { item }
end

---@param view claude-ide.transcript.View
---@param rows integer[]
---@param messages table<integer, claude-ide.sessions.Message> by id
---@param from integer
local function show(view, rows, messages, from)
  local at = from
  view.canvas:edit(function()
    local stop = vim.uv.hrtime() + BUDGET_NS
    repeat
      local row = rows[at]
      local known = view.known[row]
      local message = known and messages[known.id]
      if message and row < view.canvas.heights:len() then
        view.canvas:put(row, render(view, row, message))
        view.uncoloured[row] = true
      end
      at = at + 1
    until at > #rows or vim.uv.hrtime() > stop
  end)
  if at <= #rows then
    local generation = view.generation
    later(view, function()
      if generation == view.generation then
        show(view, rows, messages, at)
      else
        view.busy = false
        M.update(view)
      end
    end)
    return
  end
  view.busy = false
  require("claude-ide.transcript.winbar").refresh(view)
  later(view, function()
    M.update(view)
  end)
end

---Takes so many rows as may be read at once.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@return integer[] rows
---@return integer[] ids
local function batch(view, rows)
  local taken, ids, bytes = {}, {}, 0
  for _, row in ipairs(rows) do
    local known = view.known[row]
    if known then
      if #taken > 0 and bytes + known.bytes > BYTES then
        break
      end
      bytes = bytes + known.bytes
      taken[#taken + 1], ids[#ids + 1] = row, known.id
    end
  end
  return taken, ids
end

---@param view claude-ide.transcript.View
---@param err? string
local function failed(view, err)
  view.busy = false
  if err then
    require("claude-ide.log").debug("a question to a transcript failed: %s", err)
  end
  if view.again then
    view.again = false
    M.update(view)
  end
end

---@param view claude-ide.transcript.View
---@param rows integer[]
local function ask_messages(view, rows)
  local generation = view.generation
  local taken, ids = batch(view, rows)
  if #ids == 0 then
    return failed(view)
  end
  view.transcript:messages(ids, M.MAX_TEXT, function(messages, err)
    if not is_alive(view) then
      return
    elseif not messages or generation ~= view.generation then
      view.again = view.again or generation ~= view.generation
      return failed(view, err)
    end
    local by_id = {}
    for _, message in ipairs(messages) do
      by_id[message.id] = message
    end
    guarded(view, function()
      show(view, taken, by_id, 1)
    end)
  end)
end

---Rows around each other, as far as one question reaches.
---@param rows integer[] the nearest first
---@return integer first
---@return integer last
local function reach(rows)
  local first, last = rows[1], rows[1]
  for _, row in ipairs(rows) do
    if math.max(last, row) - math.min(first, row) < 4 * ROWS then
      first, last = math.min(first, row), math.max(last, row)
    end
  end
  return first, last
end

---@param view claude-ide.transcript.View
---@param rows integer[]
local function ask_rows(view, rows)
  local generation = view.generation
  local first, last = reach(rows)
  local from = math.max(first - BEFORE, 0)
  view.transcript:rows(from, last - from + 1, function(known, err)
    if not is_alive(view) then
      return
    elseif not known or generation ~= view.generation then
      view.again = view.again or generation ~= view.generation
      return failed(view, err)
    end
    for at, row in ipairs(known) do
      view.known[from + at - 1] = row
    end
    guarded(view, function()
      ask_messages(
        view,
        vim.tbl_filter(function(row)
          return row >= first and row <= last
        end, rows)
      )
    end)
  end)
end

---@param view claude-ide.transcript.View
---@param ranges claude-ide.transcript.Range[]
local function forget_far(view, ranges)
  local far = require("claude-ide.transcript.render_order").far(view.canvas, ranges, MAX_LINES)
  if #far == 0 then
    return
  end
  view.canvas:edit(function()
    for _, row in ipairs(far) do
      view.canvas:drop(row)
      view.known[row], view.uncoloured[row] = nil, nil
    end
  end)
end

---Shows what is near the windows and is not there yet.
---@param view claude-ide.transcript.View
function M.update(view)
  if not is_alive(view) or not view.transcript then
    return
  elseif view.busy then
    view.again = true
    return
  end
  view.again = false
  local near = require("claude-ide.transcript.render_order")
  local ranges = near.ranges(view.buf)
  if #ranges == 0 then
    return
  end
  local rows = near.wanted(view.canvas, ranges, ROWS)
  if #rows == 0 then
    forget_far(view, ranges)
    M.colour(view)
    return
  end
  view.busy = true
  ask_rows(view, rows)
end

---Renders again the row that has this item, if it is there.
---@param view claude-ide.transcript.View
---@param key string the item's
function M.show_again(view, key)
  if not is_alive(view) then
    return
  end
  for _, rendered in pairs(view.canvas.rows) do
    for _, item in ipairs(rendered.items) do
      if item.key == key then
        rendered.stale = true
      end
    end
  end
  M.update(view)
end

---The row whose colours are to be made next: one in a window, else any.
---@param view claude-ide.transcript.View
---@return integer? row
local function next_uncoloured(view)
  local canvas = view.canvas
  for _, range in ipairs(require("claude-ide.transcript.render_order").ranges(view.buf)) do
    local first, last = canvas.heights:at(range.top - 1), canvas.heights:at(range.bottom - 1)
    for row = first, last do
      if view.uncoloured[row] then
        return row
      end
    end
  end
  return (next(view.uncoloured))
end

---@class claude-ide.transcript.Colouring
---@field row integer
---@field item claude-ide.transcript.Item
---@field prose claude-ide.transcript.Prose
---@field pieces claude-ide.transcript.Piece[]
---@field at integer

---What is to be coloured of a row.
---@param view claude-ide.transcript.View
---@param row integer
---@return claude-ide.transcript.Colouring[]
local function colourings(view, row)
  local list = {}
  local rendered = view.canvas.rows[row]
  for _, item in ipairs(rendered and rendered.items or {}) do
    if not view.coloured[item] then
      for _, prose in ipairs(item.prose) do
        local lines = {}
        for at = prose.row + 1, prose.row + prose.count do
          lines[#lines + 1] = item.lines[at]:sub(prose.indent + 1)
        end
        local pieces = require("claude-ide.transcript.colour").pieces(lines, prose.language)
        list[#list + 1] = { row = row, item = item, prose = prose, pieces = pieces, at = 1 }
      end
      view.coloured[item] = true
    end
  end
  return list
end

---@param view claude-ide.transcript.View
---@param colouring claude-ide.transcript.Colouring
---@param piece claude-ide.transcript.Piece
local function paint(view, colouring, piece)
  local canvas, prose = view.canvas, colouring.prose
  local rendered = canvas.rows[colouring.row]
  local line = canvas.heights:before(colouring.row)
  for _, item in ipairs(rendered and rendered.items or {}) do
    if item == colouring.item then
      line = line + prose.row + piece.row
      for _, span in ipairs(require("claude-ide.transcript.colour").spans(piece)) do
        vim.api.nvim_buf_set_extmark(canvas.buf, canvas.namespace, line + span.row, span.col + prose.indent, {
          end_row = line + span.end_row,
          end_col = span.end_col + (span.end_col > 0 and prose.indent or 0),
          hl_group = span.group ~= "" and span.group or nil,
          conceal = span.conceal,
          priority = 95,
          strict = false,
        })
      end
      return
    end
    line = line + #item.lines
  end
end

---Colours what is there, a few pieces a turn.
---@param view claude-ide.transcript.View
function M.colour(view)
  if view.colouring or not is_alive(view) then
    return
  end
  local colour = require("claude-ide.transcript.colour")
  local work = {} ---@type claude-ide.transcript.Colouring[]
  local function turn()
    view.colouring = false
    local stop = vim.uv.hrtime() + BUDGET_NS
    repeat
      local current = work[#work]
      if not current then
        local row = next_uncoloured(view)
        if not row then
          return
        end
        view.uncoloured[row] = nil
        work = colourings(view, row)
      elseif current.at > #current.pieces then
        work[#work] = nil
      elseif not colour.load(current.pieces[current.at].language) then
        paint(view, current, current.pieces[current.at])
        current.at = current.at + 1
      end
    until vim.uv.hrtime() > stop
    view.colouring = true
    later(view, turn)
  end
  view.colouring = true
  later(view, turn)
end

return M
