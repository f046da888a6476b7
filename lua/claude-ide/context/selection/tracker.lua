-- Tracks the cursor and the selection, and reports changes to the server.
-- The *subject* is the cursor or selection of the file that the user is in, or was in last. It is read when a report is due, not when
-- the cursor moves: a CursorMoved within the pause costs one assignment.
-- A selection outlives Visual mode: it ends when the cursor moves in a file, or the text changes. So it is still there after the
-- user has gone to the Claude terminal, or typed `:`.
-- In a buffer of ours that shows a text of a file, such as a side of a diff, a selection is the file's (`ui/file_side`); a cursor is none,
-- so that a diff which opens takes nothing back.
-- Invariant: what a client placed by `openFile` is not the user's. Until the user moves the cursor there, a selection is reported as a
-- cursor, and a file outside of the workspace not at all.
local privacy = require("claude-ide.server.privacy")
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local file_side = lazy("claude-ide.ui.file_side")
local log = lazy("claude-ide.base.log")

local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv

local BLOCK = "\22"
local MAXCOL = vim.v.maxcol

---The kind of selection by the first letter of the mode; Select mode counts as Visual mode.
local KINDS = { v = "v", V = "V", [BLOCK] = BLOCK, s = "v", S = "V", ["\19"] = BLOCK }
local SELECTING = "[vVsS\22\19]*"

---Modes in which the cursor is not the user's position in the file: command line, prompts, terminal.
local AWAY = { c = true, r = true, ["!"] = true, t = true }

---@class claude-ide.selection.Subject: claude-ide.selection.Region
---@field buf? integer nil: nothing to report
---@field name string
---@field tick integer changedtick when read
---@field anchor_lnum integer cursor of a selection; a moved cursor ends it
---@field anchor_col integer 0-based

---@class claude-ide.selection.TrackerOpts
---@field tell fun(subject?: claude-ide.selection.Subject) sends it; nil: withdraws the last one
---@field pause_ms integer minimum time between two reads of the cursor

---Fields that identify a subject; a selection's text is compared by `tick`.
local FIELDS = { "buf", "name", "kind", "lnum1", "col1", "off1", "lnum2", "col2", "off2", "dollar" }

---@return claude-ide.selection.Subject
local function no_subject()
  return {
    buf = nil,
    name = "",
    tick = 0,
    kind = "",
    lnum1 = 1,
    col1 = 1,
    off1 = 0,
    lnum2 = 1,
    col2 = 1,
    off2 = 0,
    dollar = false,
    inclusion = "inclusive",
    virtual = false,
    anchor_lnum = 1,
    anchor_col = 0,
  }
end

local subject = no_subject()
local reported = no_subject() -- last report

local options ---@type claude-ide.selection.TrackerOpts
local group ---@type integer? while the tracker runs
local live_group ---@type integer? while clients are connected

local timer ---@type uv.uv_timer_t
local pausing = false
local changed = false -- an event during the pause
local expected = false -- a read is scheduled

local last_file ---@type integer? last entered file
local window_closed = false

local visual_buf ---@type integer? buffer in Visual mode
local visual_tick = 0 -- its changedtick at the last read
local block = false
local dollar = false

---@class claude-ide.selection.Placed a cursor or selection that a client made
---@field outside boolean the file is outside of the workspace
---@field first [integer, integer] its start, (1, 0)-indexed
---@field cursor [integer, integer]
---@field selects boolean it is still Visual mode's

---@type table<integer, claude-ide.selection.Placed> by buffer, until the user moves the cursor there
local placed = {}
local placing = false

---Whether lines of a buffer may be told: a file's, or those of ours that show one.
---@param one integer
---@param other integer
---@return boolean
local function may_tell(buf, one, other)
  if not file_side.is(buf) then
    return privacy.verdict(buf) == "tell"
  end
  local path = api.nvim_buf_is_loaded(buf) and file_side.at(buf, one, other)
  return path ~= nil and path ~= false and privacy.may_tell(path)
end

local function begin_subject(buf, kind)
  subject.buf, subject.kind = buf, kind
  subject.name = api.nvim_buf_get_name(buf)
  subject.tick = api.nvim_buf_get_changedtick(buf)
  subject.dollar = false
end

---@param col integer 0-based
local function take_cursor(buf, lnum, col)
  begin_subject(buf, "")
  subject.lnum1, subject.col1, subject.off1 = lnum, col + 1, 0
  subject.lnum2, subject.col2, subject.off2 = lnum, col + 1, 0
end

---@param first integer[] of getpos()
local function take_corners(buf, kind, first, last)
  begin_subject(buf, kind)
  subject.lnum1, subject.col1, subject.off1 = first[2], first[3], first[4]
  subject.lnum2, subject.col2, subject.off2 = last[2], last[3], last[4]
  subject.name = file_side.at(buf, first[2], last[2]) or subject.name
  subject.inclusion = vim.o.selection
  local virtual = "," .. (vim.wo.virtualedit ~= "" and vim.wo.virtualedit or vim.o.virtualedit) .. ","
  subject.virtual = virtual:find(",all,", 1, true) ~= nil
    or (kind == BLOCK and virtual:find(",block,", 1, true) ~= nil)
  local cursor = api.nvim_win_get_cursor(0)
  subject.anchor_lnum, subject.anchor_col = cursor[1], cursor[2]
end

---Reads the selection of the current mode.
---@param buf integer current
local function take_visual(buf, kind)
  local cursor = fn.getcurpos()
  take_corners(buf, kind, fn.getpos("v"), cursor)
  dollar = cursor[5] >= MAXCOL
  subject.dollar = kind == BLOCK and dollar
  visual_buf, visual_tick = buf, subject.tick
end

---Reads the selection of a mode that has just ended, from the marks: the cursor may have moved.
---@param buf integer current
local function take_marks(buf)
  local kind = fn.visualmode()
  take_corners(buf, kind, fn.getpos("'<"), fn.getpos("'>"))
  subject.dollar = kind == BLOCK and (dollar or fn.getcurpos()[5] >= MAXCOL)
end

---What a client placed in a buffer, if the user has not moved there since.
---@param win integer
---@return claude-ide.selection.Placed?
local function placed_in(buf, win)
  local mark = placed[buf]
  if not mark then
    return nil
  end
  local cursor = api.nvim_win_get_cursor(win)
  local is_selection = win == api.nvim_get_current_win() and KINDS[api.nvim_get_mode().mode:sub(1, 1)] ~= nil
  local v = is_selection and fn.getpos("v") or nil
  local is_same = cursor[1] == mark.cursor[1]
    and cursor[2] == mark.cursor[2]
    and (not v or mark.selects and v[2] == mark.first[1] and v[3] == mark.first[2] + 1)
  placed[buf] = is_same and mark or nil
  return placed[buf]
end

---@param mark claude-ide.selection.Placed
local function take_placed(buf, mark)
  if mark.outside then
    subject.buf = nil
  else
    take_cursor(buf, mark.first[1], mark.first[2])
  end
end

---Whether the selection in a buffer of ours is still there.
local function side_holds()
  local buf = subject.buf --[[@as integer]]
  if
    not may_tell(buf, subject.lnum1, subject.lnum2)
    or subject.tick ~= api.nvim_buf_get_changedtick(buf)
    or #fn.win_findbuf(buf) == 0
  then
    return false
  elseif buf ~= api.nvim_get_current_buf() or AWAY[api.nvim_get_mode().mode:sub(1, 1)] then
    return true
  end
  local cursor = api.nvim_win_get_cursor(0)
  return subject.anchor_lnum == cursor[1] and subject.anchor_col == cursor[2]
end

---Updates a subject whose file is not the current buffer.
local function look_from_elsewhere()
  if subject.buf and file_side.is(subject.buf) then
    if side_holds() then
      return
    end
    subject.buf = nil
  end
  local buf = subject.buf or last_file
  if not buf or privacy.verdict(buf) ~= "tell" or not api.nvim_buf_is_loaded(buf) then
    subject.buf = nil
    return
  end
  if window_closed and #fn.win_findbuf(buf) == 0 then
    subject.buf, last_file = nil, nil
    return
  end
  if subject.buf == buf and subject.tick == api.nvim_buf_get_changedtick(buf) then
    return
  end
  local win = fn.bufwinid(buf)
  local mark = win ~= -1 and placed_in(buf, win) or placed[buf]
  if mark then
    return take_placed(buf, mark)
  end
  local cursor = win ~= -1 and api.nvim_win_get_cursor(win) or api.nvim_buf_get_mark(buf, '"')
  take_cursor(buf, math.min(math.max(cursor[1], 1), api.nvim_buf_line_count(buf)), cursor[2])
end

---Updates the subject.
local function look()
  local buf = api.nvim_get_current_buf()
  if file_side.is(buf) then
    local kind = KINDS[api.nvim_get_mode().mode:sub(1, 1)]
    if kind and may_tell(buf, fn.line("v"), fn.line(".")) then
      return take_visual(buf, kind)
    end
    return look_from_elsewhere()
  end
  local verdict = privacy.verdict(buf)
  if verdict == "elsewhere" then
    return look_from_elsewhere()
  elseif verdict == "private" then
    subject.buf, last_file = nil, buf
    return
  end
  last_file = buf
  local mark = placed_in(buf, api.nvim_get_current_win())
  if mark then
    visual_buf = nil
    return take_placed(buf, mark)
  end
  local mode = api.nvim_get_mode().mode:sub(1, 1)
  local kind = KINDS[mode]
  if kind then
    return take_visual(buf, kind)
  elseif AWAY[mode] and subject.buf == buf then
    return
  end
  local cursor = api.nvim_win_get_cursor(0)
  local holds = subject.buf == buf
    and subject.kind ~= ""
    and subject.anchor_lnum == cursor[1]
    and subject.anchor_col == cursor[2]
    and subject.tick == api.nvim_buf_get_changedtick(buf)
  if not holds then
    take_cursor(buf, cursor[1], cursor[2])
  end
end

local function is_told()
  if not subject.buf then
    return not reported.buf
  end
  for _, field in ipairs(FIELDS) do
    if subject[field] ~= reported[field] then
      return false
    end
  end
  return subject.kind == "" or subject.tick == reported.tick
end

---Reports the subject if it has changed.
local function publish()
  if is_told() then
    return
  end
  for _, field in ipairs(FIELDS) do
    reported[field] = subject[field]
  end
  reported.tick = subject.tick
  local ok, err = pcall(options.tell, subject.buf and subject or nil)
  if not ok then
    -- Only logged: the cursor moves too often for notices.
    log.error("selection: %s", err)
  end
end

---Handles a possible change: reads now, or at the end of the pause.
local function request()
  if pausing or placing then
    changed = true
    return
  end
  changed = false
  look()
  window_closed = false
  publish()
  if options.pause_ms > 0 then
    pausing = true
    -- The loop's clock is stale while Lua runs, which would shorten the pause.
    uv.update_time()
    timer:start(options.pause_ms, 0, function()
      pausing = false
      if changed then
        vim.schedule(function()
          if changed and live_group then
            request()
          end
        end)
      end
    end)
  end
end

---`request` after the current command: one that enters a file has not placed the cursor yet.
local function request_soon()
  if expected or not live_group then
    return
  end
  expected = true
  vim.schedule(function()
    expected = false
    if live_group then
      request()
    end
  end)
end

local function on_cursor_moved()
  if block then
    dollar = fn.getcurpos()[5] >= MAXCOL
  end
  if pausing then
    changed = true
  else
    request()
  end
end

---Visual mode begins, changes kind, or ends.
local function on_mode_changed()
  local event = vim.v.event --[[@as { new_mode: string }]]
  local kind = KINDS[event.new_mode:sub(1, 1)]
  local buf = api.nvim_get_current_buf()
  if kind then
    if visual_buf ~= buf then
      visual_buf, visual_tick = buf, api.nvim_buf_get_changedtick(buf)
    end
    block, dollar = kind == BLOCK, false
  else
    -- Visual mode may end in another buffer; its selection was read when the buffer was left.
    if
      not placed_in(buf, api.nvim_get_current_win())
      and visual_buf == buf
      and visual_tick == api.nvim_buf_get_changedtick(buf)
      and may_tell(buf, fn.line("'<"), fn.line("'>"))
    then
      take_marks(buf)
    end
    visual_buf, block, dollar = nil, false, false
    if placed[buf] then
      placed[buf].selects = false -- `gv` is the user's
    end
  end
  if live_group then
    request()
  end
end

---Reads pending changes: the next buffer may not be a file.
local function on_leave()
  if visual_buf or (changed and live_group) then
    look()
  end
end

---@param event { buf: integer }
local function on_buf_enter(event)
  -- Another autocommand may have wiped it out.
  local is_valid = api.nvim_buf_is_valid(event.buf)
  if is_valid and vim.bo[event.buf].buftype == "" and api.nvim_buf_get_name(event.buf) ~= "" then
    last_file = event.buf
    if api.nvim_buf_is_loaded(event.buf) then
      privacy.watch(event.buf)
    end
  end
  request_soon()
end

---@param buf integer
local function on_privacy_changed(buf)
  local is_side = subject.buf ~= nil and file_side.is(subject.buf)
  if live_group and (is_side or buf == subject.buf or buf == reported.buf or buf == last_file) then
    pausing = false -- what is private now is withdrawn at once
    request()
  end
end

local follow_privacy = require("claude-ide.base.once")(function()
  bus.on("privacy_changed", on_privacy_changed)
end)

local function on_win_closed()
  window_closed = true
  request_soon()
end

---@param events vim.api.keyset.events|vim.api.keyset.events[]
---@param callback function
---@param pattern? string[]
local function on(id, events, callback, pattern)
  api.nvim_create_autocmd(events, { group = id, pattern = pattern, callback = callback })
end

---Shows a file for a client, and places the cursor or a selection in it.
---@param buf integer
---@param outside boolean it is outside of the workspace
---@param place fun(): integer? win which it is placed in
---@return integer? win
function M.by_client(buf, outside, place)
  local was = placing
  placing = true
  local ok, win = pcall(place)
  placing = was
  if not ok then
    error(win, 0)
  end
  ---@cast win integer?
  if win then
    local cursor = api.nvim_win_get_cursor(win)
    local selects = win == api.nvim_get_current_win() and KINDS[api.nvim_get_mode().mode:sub(1, 1)] ~= nil
    local v = selects and fn.getpos("v") or nil
    local first = v and { v[2], v[3] - 1 } or cursor
    placed[buf] = { outside = outside, first = first, cursor = cursor, selects = selects }
    request_soon()
  end
  return win
end

---Starts tracking; costs a read whenever Visual mode ends. Reports nothing before `listen(true)`.
---@param opts claude-ide.selection.TrackerOpts
function M.start(opts)
  M.stop()
  options = opts
  timer = timer or assert(uv.new_timer())
  privacy.reset()
  follow_privacy()
  group = api.nvim_create_augroup("claude-ide.selection", {})
  on(group, "ModeChanged", on_mode_changed, { SELECTING .. ":*", "*:" .. SELECTING })
  on(group, { "WinLeave", "BufLeave" }, on_leave)
  on(group, "BufEnter", on_buf_enter)
  on(group, { "DirChanged", "BufFilePost" }, privacy.reset)
  on(group, { "BufWipeout", "TextChanged", "TextChangedI" }, function(event)
    placed[event.buf] = nil
  end)
  on_buf_enter({ buf = api.nvim_get_current_buf() })
end

---Starts or stops reporting the subject and its changes.
---@param listening boolean
function M.listen(listening)
  if not group or listening == (live_group ~= nil) then
    return
  elseif live_group then
    api.nvim_del_augroup_by_id(live_group)
    live_group, pausing, changed = nil, false, false
    timer:stop()
    return
  end
  live_group = api.nvim_create_augroup("claude-ide.selection.live", {})
  on(live_group, { "CursorMoved", "CursorMovedI", "TextChanged" }, on_cursor_moved)
  on(
    live_group,
    { "WinEnter", "BufFilePost", "BufReadPost", "BufUnload", "FileChangedShellPost" },
    request_soon
  )
  on(live_group, "WinClosed", on_win_closed)
  reported.buf = nil
  request()
end

---Withdraws the last report, so that later clients do not get it.
function M.forget()
  if reported.buf and options then
    reported.buf = nil
    options.tell(nil)
  end
end

---Stops tracking.
function M.stop()
  if group then
    M.listen(false)
    api.nvim_del_augroup_by_id(group)
  end
  group, last_file, visual_buf, block = nil, nil, nil, false
  subject.buf, reported.buf = nil, nil
end

return M
