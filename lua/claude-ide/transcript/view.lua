-- Lifecycle of a displayed transcript: its source, buffer, autocommands and subscriptions.

local open_views = require("claude-ide.transcript.open_views")
local lazy = require("claude-ide.lazy")
local agent_reader = lazy("claude-ide.transcript.agent_reader")
local buffer = lazy("claude-ide.transcript.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local bus = lazy("claude-ide.base.bus")
local canvas = lazy("claude-ide.transcript.canvas")
local colour = lazy("claude-ide.transcript.colour")
local file_side = lazy("claude-ide.ui.file_side")
local fold = lazy("claude-ide.transcript.fold")
local follow = lazy("claude-ide.transcript.follow")
local keys = lazy("claude-ide.transcript.keys")
local loader = lazy("claude-ide.transcript.loader")
local match = lazy("claude-ide.transcript.match")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local painter = lazy("claude-ide.transcript.painter")
local safely = lazy("claude-ide.base.safely")
local search = lazy("claude-ide.transcript.search")
local sessions = lazy("claude-ide.sessions")
local targets = lazy("claude-ide.transcript.targets")
local viewport = lazy("claude-ide.transcript.viewport")
local winbar = lazy("claude-ide.transcript.winbar")

local M = {}

---@param view claude-ide.transcript.View
local function group_of(view)
  return "claude-ide.transcript." .. view.buf
end

---@param view claude-ide.transcript.View
local function stop_listening(view)
  pcall(vim.api.nvim_del_augroup_by_name, group_of(view))
end

---@param view claude-ide.transcript.View
local function forget(view)
  open_views.remove(view)
  view.closed = true
  agent_reader.close_all(view)
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
  stop_listening(view)
  own_buffer.delete(view.buf)
end

---@param view claude-ide.transcript.View
---@param err string
local function break_off(view, err)
  view.problem = err
  winbar.refresh(view)
  if not view.source:info() then
    notice.error("The transcript cannot be opened: " .. err)
  end
end

---Fills the buffer from scratch. Work in progress ends with the previous canvas.
---@param view claude-ide.transcript.View
local function lay_out(view)
  view.canvas = canvas.new(view.buf)
  view.queued_changes = nil
  loader.forget(view)
  view.busy, view.again, view.colouring = false, false, false
  own_buffer.change(view.buf, function()
    vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, { "" })
  end)
  local info = view.source:info()
  if info then
    view.canvas.is_end_only = not info.complete
    view.canvas:edit(function()
      view.canvas:resize(info.len)
    end)
    for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
      viewport.go_to_end(win)
    end
    loader.update(view)
  end
end

---@param view claude-ide.transcript.View
local function create_autocommands(view)
  local group = vim.api.nvim_create_augroup(group_of(view), { clear = true })
  local function on(events, desc, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      buffer = view.buf,
      desc = "Claude Code: " .. desc,
      callback = safely.wrap(desc, callback),
    })
  end
  on("BufWinEnter", "set up the window of a transcript", function()
    local win = vim.api.nvim_get_current_win()
    buffer.set_window_options(win)
    fold.create_all(view.canvas, win)
    if view.left_at_end then
      viewport.go_to_end(win)
    end
    loader.update(view)
    winbar.refresh(view)
  end)
  on("BufLeave", "remember whether a transcript was left at its end", function()
    view.left_at_end = viewport.is_at_end(vim.api.nvim_get_current_win())
  end)
  on("BufReadCmd", "read a transcript again", function()
    own_buffer.renew(view.buf, buffer.OPTS)
    keys.map(view) -- `:bdelete` removed them
    lay_out(view)
  end)
  on("BufWipeout", "close a transcript", function()
    forget(view)
    vim.schedule(function()
      stop_listening(view)
    end)
  end)
  on("CursorMoved", "show where in a transcript the cursor is", function()
    match.moved(view)
    loader.update(view)
  end)
  search.listen(view, group)
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinResized" }, {
    group = group,
    desc = "Claude Code: highlight rows near the window",
    callback = safely.wrap("highlight what comes near", function()
      if #vim.fn.win_findbuf(view.buf) > 0 then
        loader.update(view)
      end
    end),
  })
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = "wrap",
    desc = "Claude Code: draw wide tables where lines are not wrapped",
    callback = vim.schedule_wrap(safely.wrap("draw the tables", function()
      if #vim.fn.win_findbuf(view.buf) > 0 then
        painter.resized(view)
        loader.colour(view)
      end
    end)),
  })
  ---@param windows integer[]
  local function stay(windows)
    for _, win in ipairs(windows) do
      local is_here = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == view.buf
      if is_here and viewport.is_at_end(win) then
        viewport.go_to_end(win)
      end
    end
  end
  local stay_later = vim.schedule_wrap(safely.wrap("stay at the end of a transcript", stay))
  vim.api.nvim_create_autocmd("WinResized", {
    group = group,
    desc = "Claude Code: keep a window at the end of its transcript",
    callback = function()
      local windows = vim.v.event.windows or {}
      if #vim.fn.win_findbuf(view.buf) > 0 then
        painter.resized(view)
        loader.colour(view)
      end
      stay(windows)
      stay_later(windows) -- after other handlers of the resize
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Claude Code: keep a window at the end of its transcript",
    callback = function(event)
      -- A window that opened and closed in one turn of the event loop is no resize of the others, but has scrolled them.
      local closed = tonumber(event.match) --[[@as integer]]
      if vim.api.nvim_win_get_config(closed).relative == "" then
        stay_later(vim.fn.win_findbuf(view.buf))
      end
    end,
  })
end

---@param source claude-ide.transcript.Source
---@param buf integer to fill
---@return claude-ide.transcript.View
function M.create(source, buf)
  colour.define()
  local view = {
    source = source,
    id = source.id,
    session = source.session,
    buf = buf,
    canvas = canvas.new(buf),
    agents = {},
    uncoloured = {},
    when_loaded = {},
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
  buffer_marks.mark(buf, "transcript")
  file_side.set(buf, function(first, last)
    return targets.edited_file(view, first, last)
  end)
  buffer.name(view)
  own_buffer.renew(buf, buffer.OPTS)
  create_autocommands(view)
  keys.map(view)
  return view
end

---Subscribes to events of its session.
---@param view claude-ide.transcript.View
local function listen(view)
  for _, live in ipairs(sessions.live()) do
    if live.id == view.id then
      view.live, view.ran, view.cwd = live, true, view.cwd or live.cwd
    end
  end
  local leave_changes = bus.on("session_changed", function(change)
    follow.session_changed(view, change)
  end)
  local leave_titles = bus.on("session_renamed", function(id)
    if id == view.source.id then
      buffer.learn_title_again(view)
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
      winbar.refresh(view)
      opened()
    end,
    failed = function(err)
      break_off(view, err)
    end,
    changed = function(delta)
      follow.apply(view, delta)
    end,
    appended = function(text, bytes)
      follow.append(view, text, bytes)
    end,
  })
  listen(view)
  buffer.learn_title(view)
end

return M
