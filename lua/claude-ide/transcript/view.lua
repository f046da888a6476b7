-- Lifecycle of a displayed transcript: its source, buffer and subscriptions.

local M = {}

local open_views = require("claude-ide.transcript.open_views")

---@param view claude-ide.transcript.View
local function forget(view)
  open_views.remove(view)
  view.closed = true
  require("claude-ide.transcript.agent_reader").close_all(view)
  view.source:close()
  if view.unsubscribe then
    view.unsubscribe()
  end
end

---Closes a view and deletes its buffer, without autocommands.
---@param view claude-ide.transcript.View
function M.close(view)
  if not view.closed then
    forget(view)
  end
  require("claude-ide.transcript.autocommands").stop(view)
  require("claude-ide.ui.own_buffer").delete(view.buf)
end

---@param view claude-ide.transcript.View
---@param err string
local function break_off(view, err)
  view.problem = err
  require("claude-ide.transcript.winbar").refresh(view)
  if not view.source:info() then
    require("claude-ide.ui.notice").error("The transcript cannot be opened: " .. err)
  end
end

---Fills the buffer from scratch. Work in progress ends with the previous canvas.
---@param view claude-ide.transcript.View
local function lay_out(view)
  view.canvas = require("claude-ide.transcript.canvas").new(view.buf)
  view.known, view.held_changes = {}, nil
  view.busy, view.again, view.colouring = false, false, false
  view.uncoloured, view.to_colour = {}, {}
  require("claude-ide.ui.own_buffer").change(view.buf, function()
    vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, { "" })
  end)
  local info = view.source:info()
  if info then
    view.canvas:edit(function()
      view.canvas:resize(info.len)
    end)
    for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
      require("claude-ide.transcript.viewport").go_to_end(win)
    end
    require("claude-ide.transcript.loader").update(view)
  end
end

---@param source claude-ide.transcript.Source
---@param buf integer to fill
---@return claude-ide.transcript.View
function M.create(source, buf)
  require("claude-ide.transcript.colour").define()
  local view = {
    source = source,
    id = source.id,
    session = source.session,
    buf = buf,
    canvas = require("claude-ide.transcript.canvas").new(buf),
    known = {},
    agents = {},
    uncoloured = {},
    to_colour = {},
    generation = 0,
    busy = false,
    again = false,
    colouring = false,
    closed = false,
    came_from = {},
    cwd = source.cwd,
    title = source.title,
  }
  open_views.add(view)
  require("claude-ide.ui.ours").mark(buf, "transcript")
  require("claude-ide.transcript.buffer").name(view)
  require("claude-ide.ui.own_buffer").renew(buf, require("claude-ide.transcript.buffer").OPTS)
  require("claude-ide.transcript.autocommands").create(view, lay_out, forget)
  require("claude-ide.transcript.keys").map(view)
  return view
end

---Subscribes to events of its session.
---@param view claude-ide.transcript.View
local function listen(view)
  for _, live in ipairs(require("claude-ide.sessions").live()) do
    if live.id == view.id then
      view.live, view.ran, view.cwd = live, true, view.cwd or live.cwd
    end
  end
  local bus = require("claude-ide.bus")
  local leave_changes = bus.on("session_changed", function(change)
    require("claude-ide.transcript.follow").session_changed(view, change)
  end)
  local leave_titles = bus.on("session_renamed", function(id)
    if id == view.source.id then
      require("claude-ide.transcript.buffer").learn_title_again(view)
    end
  end)
  view.unsubscribe = function()
    leave_changes()
    leave_titles()
  end
end

---@param view claude-ide.transcript.View
---@param opened fun()
function M.read(view, opened)
  view.source:open({
    opened = function()
      lay_out(view)
      require("claude-ide.transcript.winbar").refresh(view)
      opened()
    end,
    failed = function(err)
      break_off(view, err)
    end,
    changed = function(delta)
      require("claude-ide.transcript.follow").apply(view, delta)
    end,
    appended = function(text, bytes)
      require("claude-ide.transcript.follow").append(view, text, bytes)
    end,
  })
  listen(view)
  require("claude-ide.transcript.buffer").learn_title(view)
end

return M
