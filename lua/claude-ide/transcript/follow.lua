-- Applies changes to an open transcript: new messages, results, another branch, a replaced file, and the state of its session.

local painter = require("claude-ide.transcript.painter")
local slice = require("claude-ide.base.slice")
local while_open = require("claude-ide.transcript.while_open")
local lazy = require("claude-ide.lazy")
local agent_reader = lazy("claude-ide.transcript.agent_reader")
local buffer = lazy("claude-ide.transcript.buffer")
local loader = lazy("claude-ide.transcript.loader")
local native = lazy("claude-ide.library.native")
local render = lazy("claude-ide.transcript.render")
local sessions_waits = lazy("claude-ide.sessions.waits")
local viewport = lazy("claude-ide.transcript.viewport")
local winbar = lazy("claude-ide.transcript.winbar")

local M = {}

---The rest of a huge file was read: its rows come before those in the buffer, which have new ids.
---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function complete(view, delta)
  local canvas, shift = view.canvas, delta.shift or 0
  loader.forget(view)
  canvas:edit(function()
    canvas:shift(shift)
    canvas:resize(delta.len)
  end, shift)
  canvas:mark_all_stale()
  for row in pairs(canvas.rows) do
    painter.want(view, row)
  end
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function replace(view, delta)
  loader.forget(view)
  agent_reader.close_all(view)
  view.canvas:edit(function()
    view.canvas:resize(0)
    view.canvas:resize(delta.len)
  end)
  for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
    viewport.go_to_end(win)
  end
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function change(view, delta)
  if delta.from == delta.len or #(delta.changed or {}) > 0 then
    agent_reader.look_again(view) -- not after a new message
  end
  for _, row in ipairs(delta.changed or {}) do
    -- The beginning of the next row depends on it.
    view.canvas:mark_stale(row)
    view.canvas:mark_stale(row + 1)
  end
  for row = delta.from, math.max(delta.len, view.canvas.heights:len()) - 1 do
    view.canvas:mark_stale(row)
  end
  if delta.len ~= view.canvas.heights:len() then
    view.canvas:edit(function()
      view.canvas:resize(delta.len)
    end)
  end
end

---Applies changes in order, once lines may come and go. Queued changes are applied a few per turn, since there may be many.
---@param view claude-ide.transcript.View
---@param apply fun()
local function when_free(view, apply)
  if not while_open.is_alive(view) then
    return -- the buffer is filled again when it is loaded
  end
  local queued = view.queued_changes
  local function go_on()
    local changes, is_over = view.queued_changes or {}, slice.begin()
    view.queued_changes = nil
    for at, one in ipairs(changes) do
      if at > 1 and not view.queued_changes and is_over() then
        view.queued_changes = vim.list_slice(changes, at)
        return while_open.later(view, go_on)
      end
      when_free(view, one)
    end
  end
  if queued or not loader.may_change(view, "changes", go_on) then
    view.queued_changes = queued or {}
    table.insert(view.queued_changes, apply)
    return
  end
  apply()
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function apply_now(view, delta)
  local info = view.source:info()
  view.canvas.is_end_only = info ~= nil and not info.complete
  if delta.reset then
    view.generation = view.generation + 1
    if delta.shift then
      complete(view, delta)
    else
      replace(view, delta)
    end
  else
    change(view, delta)
  end
  local waiting = view.when_complete
  if waiting and info and info.complete then
    view.when_complete = nil
    waiting()
  end
  buffer.learn_title(view)
  loader.update(view)
  winbar.refresh(view)
end

---Rows were added, changed, or replaced.
---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
function M.apply(view, delta)
  if delta.reset and not while_open.is_alive(view) then
    agent_reader.close_all(view)
  end
  when_free(view, function()
    apply_now(view, delta)
  end)
end

---Appends to the last text of the last message. Costs only the changed lines, however long the message is.
---@param view claude-ide.transcript.View
---@param added string
---@param bytes integer of the whole text
---@return boolean shown false: the message must be rendered again
local function grow(view, added, bytes)
  local canvas, source = view.canvas, view.source
  local row = canvas.heights:len() - 1
  local rendered = canvas.rows[row]
  local item = rendered and rendered.items[#rendered.items]
  local before = item and item.open_end
  if
    not item
    or not before
    or rendered.stale
    or bytes > source.max_text
    or before.bytes + #added ~= bytes
  then
    return false
  end
  local grown = native.render_growth(before.tail, added)
  local lines, replaced = grown and grown.lines or {}, #item.lines - before.first
  if not grown or #lines < replaced or before.first + #lines > source.max_lines then
    return false
  end
  canvas:edit(function()
    canvas:extend(row, before.first, lines)
  end)
  local prose = item.prose[1]
  item.open_end = { first = before.first + grown.first, tail = grown.tail, bytes = bytes }
  prose.count = #item.lines
  painter.went_on(view, row, item, prose)
  loader.colour(view)
  return true
end

---The last text of the last message grew.
---@param view claude-ide.transcript.View
---@param text string added text
---@param bytes integer of the whole text
function M.append(view, text, bytes)
  when_free(view, function()
    if not grow(view, text, bytes) then
      local row = view.canvas.heights:len() - 1
      view.canvas:mark_stale(row)
      loader.update(view)
    end
  end)
end

---Draws again the rendered rows with such a call.
---@param view claude-ide.transcript.View
---@param is_one fun(tool: claude-ide.sessions.ToolRow): boolean
local function draw_calls_again(view, is_one)
  view.canvas:distrust()
  for row, rendered in pairs(view.canvas.rows) do
    if vim.iter(rendered.row.tools or {}):any(is_one) then
      view.canvas:mark_stale(row)
    end
  end
  agent_reader.look_again(view)
  loader.update(view)
end

---The session started or ended: redraws what is shown as running.
---@param view claude-ide.transcript.View
local function run_or_end(view)
  local is_ended = render.is_ended(view)
  if view.ended == is_ended then
    return
  end
  view.ended = is_ended
  draw_calls_again(view, function(tool)
    return tool.status == "running"
  end)
end

---A wait of the session may have ended: redraws calls that were drawn before.
---@param view claude-ide.transcript.View
local function waited(view)
  local waits = sessions_waits.of(view.session)
  local wait = waits[#waits]
  if not wait or wait == view.waited then
    return
  end
  view.waited = wait
  draw_calls_again(view, function(tool)
    return (tool["end"] or 0) > wait[1]
  end)
end

---@param view claude-ide.transcript.View
---@param change_of claude-ide.sessions.LiveChange
function M.session_changed(view, change_of)
  local session, source = change_of.session, view.source -- the source's id changes after `/clear` in a chat
  if session.id == source.session or change_of.previous == source.session then
    run_or_end(view)
    waited(view)
  end
  if session.id == source.id then
    local is_renamed = view.live ~= nil and view.live.name ~= session.name
    view.live, view.ran, view.went_on = session, true, nil
    if is_renamed then
      buffer.learn_title_again(view)
    end
  elseif change_of.previous == source.id then
    view.live, view.went_on = nil, session.id
  else
    return
  end
  winbar.refresh(view)
end

return M
