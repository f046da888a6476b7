-- Transcripts of sessions: read-only buffers that follow their session.
-- A `source` provides messages, a `view` shows them. `canvas` maps rows to lines and changes the text, `viewport` keeps windows in
-- place, `loader` decides what is drawn, `render` turns messages into lines, `painter` highlights them. The newest rows are loaded
-- first, then earlier ones up to a limit. Of a longer session the buffer has the end; its first line tells of the rest and loads it.

local open_views = require("claude-ide.transcript.open_views")
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.transcript.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local file_window = lazy("claude-ide.ui.file_window")
local find = lazy("claude-ide.transcript.source.find")
local guard = lazy("claude-ide.ui.guard")
local modifiers = lazy("claude-ide.ui.modifiers")
local motions = lazy("claude-ide.transcript.motions")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local transcript_view = lazy("claude-ide.transcript.view")
local viewport = lazy("claude-ide.transcript.viewport")
local window = lazy("claude-ide.base.window")

local M = {}

---A buffer that its view reads, also at `:edit`.
---@type claude-ide.ui.own_buffer.Opts
local UNREAD = { draw_again = function() end }

---A window of the tab page that shows this transcript, or else another transcript.
---@param view claude-ide.transcript.View
---@return integer? win
local function own_window(view)
  local other
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buf = vim.api.nvim_win_get_buf(win)
    if buf == view.buf then
      return win
    elseif open_views.of_buffer(buf) and not vim.wo[win].winfixbuf then
      other = other or win
    end
  end
  return other
end

---@param view claude-ide.transcript.View
---@param chosen? integer window to use
---@param request claude-ide.ui.guard.Request
---@return integer? win
local function put_into_window(view, chosen, request)
  local before = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    before[win] = vim.api.nvim_win_get_buf(win)
  end
  local may_focus = file_window.may_focus(request)
  local win = chosen and vim.api.nvim_win_is_valid(chosen) and chosen
    or not modifiers.opens_tab() and own_window(view)
    or nil
  local is_here = win == vim.api.nvim_get_current_win()
  if win and (chosen or may_focus or not is_here) and vim.fn.getcmdwintype() == "" then
    vim.api.nvim_win_set_buf(win, view.buf)
    if not chosen and may_focus then
      window.enter(win)
    end
  else
    win = file_window.show(view.buf, request)
  end
  local buf = win and before[win]
  if win and buf and buf ~= view.buf then
    -- From one transcript to the next: `q` returns to the buffer before both.
    local other = open_views.of_buffer(buf)
    view.came_from[win] = other and other.came_from[win] or buf --[[@as integer]]
  end
  return win
end

---Moves to the end of a source in all its windows, to follow it.
---@param source claude-ide.transcript.Source
function M.go_to_end(source)
  local view = open_views.of_source(source)
  for _, win in ipairs(view and vim.fn.win_findbuf(view.buf) or {}) do
    viewport.go_to_end(win)
  end
end

---@class claude-ide.transcript.OpenOpts
---@field line? integer line of the session file, from 1: go to its message
---@field match? claude-ide.transcript.Match with `line`: the match in that message
---@field win? integer window to use; default: a suitable one

---Shows a source in its existing buffer or a new one.
---@param source claude-ide.transcript.Source
---@param opts claude-ide.transcript.OpenOpts
---@param request claude-ide.ui.guard.Request
local function show(source, opts, request)
  local known = open_views.of_source(source)
  local view = known or transcript_view.create(source, own_buffer.create(UNREAD))
  local win = put_into_window(view, opts.win, request)
  local function go()
    if opts.line and win then
      motions.go_to_line(view, opts.line, win, opts.match)
    end
  end
  if known then
    go()
  else
    transcript_view.read(view, go)
  end
end

---Shows a source in a window at once; content follows.
---@param source claude-ide.transcript.Source
---@param win integer
---@return claude-ide.transcript.View
function M.show_in(source, win)
  local view = transcript_view.create(source, own_buffer.create(UNREAD))
  vim.api.nvim_win_set_buf(win, view.buf)
  -- `win` may not be the current window, so the autocommand may not run for it.
  buffer.set_window_options(win)
  transcript_view.read(view, function() end)
  return view
end

---Undoes `show_in`.
---@param view claude-ide.transcript.View
function M.close(view)
  transcript_view.close(view)
end

---Shows a transcript. Errors become notices.
---@param wanted? claude-ide.transcript.Wanted default: the current session
---@param opts? claude-ide.transcript.OpenOpts
function M.open(wanted, opts)
  local request = guard.request()
  find.find(wanted or {}, function(source)
    guard.when_no_key("transcript " .. source.key, function()
      show(source, opts or {}, request)
    end, request)
  end)
end

---Fills an empty buffer named like a transcript: after `:edit claude://transcript/{id}`, or in a restored session.
---session.
---@param buf integer
---@param name string of the buffer
function M.read_into(buf, name)
  if open_views.of_buffer(buf) then
    return -- its own autocommand fills it
  elseif vim.startswith(name, "/") and vim.uv.fs_stat(name) then
    return -- a file with such a name
  end
  local session, agent = buffer_marks.conversation(name)
  local bo = vim.bo[buf]
  bo.buftype, bo.swapfile, bo.bufhidden = "nofile", false, "hide"
  if not session then
    notice.error("This is not the name of a transcript.")
    return
  end
  find.find({ id = session, agent = agent }, function(source)
    local known = open_views.of_source(source)
    if not vim.api.nvim_buf_is_valid(buf) or open_views.of_buffer(buf) then
      return
    elseif known then
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        vim.api.nvim_win_set_buf(win, known.buf)
      end
      vim.api.nvim_buf_delete(buf, { force = true })
      return
    end
    local view = transcript_view.create(source, buf)
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      buffer.set_window_options(win)
    end
    transcript_view.read(view, function() end)
  end)
end

return M
