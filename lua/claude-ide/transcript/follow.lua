-- What changes while a transcript is open: new messages, results, another branch, a file that was replaced; and what the
-- session does.

local M = {}

---@param view claude-ide.transcript.View
---@param from integer row
local function forget(view, from)
  for row in pairs(view.known) do
    if row >= from then
      view.known[row] = nil
    end
  end
  for row, rendered in pairs(view.canvas.rows) do
    if row >= from then
      rendered.stale = true
    end
  end
end

---The rest of a huge file is known now: what there is stays, with new ids, below what comes before it.
---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function complete(view, delta)
  local canvas, shift = view.canvas, delta.shift or 0
  view.known, view.uncoloured = {}, {}
  canvas:edit(function()
    canvas:prepend(shift)
    canvas:resize(delta.len)
  end, shift)
  forget(view, 0)
  for row in pairs(canvas.rows) do
    view.uncoloured[row] = true
  end
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function replace(view, delta)
  view.known, view.uncoloured = {}, {}
  require("claude-ide.transcript.agents").close_all(view)
  view.canvas:edit(function()
    view.canvas:resize(0)
    view.canvas:resize(delta.len)
  end)
  for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
    require("claude-ide.transcript.viewport").go_to_end(win)
  end
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
local function change(view, delta)
  for _, row in ipairs(delta.changed or {}) do
    -- How the next one begins depends on it.
    for _, other in ipairs({ row, row + 1 }) do
      view.known[other] = nil
      if view.canvas.rows[other] then
        view.canvas.rows[other].stale = true
      end
    end
  end
  forget(view, delta.from)
  if delta.len ~= view.canvas.heights:len() then
    view.canvas:edit(function()
      view.canvas:resize(delta.len)
    end)
  end
end

---@param view claude-ide.transcript.View
---@param delta claude-ide.sessions.Delta
function M.apply(view, delta)
  if view.closed or not vim.api.nvim_buf_is_valid(view.buf) then
    return
  end
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
  if waiting and view.transcript and view.transcript:info().complete then
    view.when_complete = nil
    waiting()
  end
  require("claude-ide.transcript").learn_title(view)
  require("claude-ide.transcript.loader").update(view)
  require("claude-ide.transcript.winbar").refresh(view)
end

---@param view claude-ide.transcript.View
---@param change_of claude-ide.sessions.LiveChange
function M.session_changed(view, change_of)
  local session = change_of.session
  if session.id == view.id then
    view.live, view.ran = session, true
  elseif change_of.previous == view.id then
    view.live, view.went_on = nil, session.id
  else
    return
  end
  require("claude-ide.transcript.winbar").refresh(view)
end

return M
