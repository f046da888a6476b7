-- Motions between prompts, tool calls and edits, and to a message; they include rows that are not rendered.

local lazy = require("claude-ide.lazy")
local follow = lazy("claude-ide.transcript.follow")
local loader = lazy("claude-ide.transcript.loader")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local render = lazy("claude-ide.transcript.render")
local transcript_match = lazy("claude-ide.transcript.match")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@alias claude-ide.transcript.Stop "prompt"|"tool"|"edit"

---Timeout of a jump; the library responds within a few milliseconds.
M.WAIT_MS = 1000
---Rows per request.
local ROWS = 500

---@class claude-ide.transcript.StopKind
---@field row fun(row: claude-ide.sessions.Row): boolean whether a row contains one
---@field item fun(item: claude-ide.transcript.Item): boolean whether an item is one

---@type table<claude-ide.transcript.Stop, claude-ide.transcript.StopKind>
local STOPS = {
  prompt = {
    row = function(row)
      return render.is_prompt(row.kind)
    end,
    item = function(item)
      return item.kind == "heading"
    end,
  },
  tool = {
    row = function(row)
      return (row.tools and #row.tools > 0) or row.kind == "results"
    end,
    item = function(item)
      return item.kind == "tool"
    end,
  },
  edit = {
    row = function(row)
      local names = native.writing_tools() or {}
      return vim.iter(row.tools or {}):any(function(tool)
        return vim.list_contains(names, tool.name)
      end)
    end,
    item = function(item)
      return item.edit == true
    end,
  },
}

---Requests rows and blocks until they arrive.
---@param view claude-ide.transcript.View
---@param from integer
---@param count integer
---@return table<integer, claude-ide.sessions.Row>?
local function ask(view, from, count)
  local rows, done = nil, false
  view.source:rows(from, count, function(found)
    rows, done = found, true
  end)
  vim.wait(M.WAIT_MS, function()
    return done
  end, 1)
  if not rows then
    return nil
  end
  local by_row = {}
  for at, row in ipairs(rows) do
    by_row[from + at - 1] = row
  end
  return by_row
end

---Lines of a row to stop at.
---@param view claude-ide.transcript.View
---@param row integer
---@param stop claude-ide.transcript.Stop
---@return integer[] lnums
local function lines_in(view, row, stop)
  local rendered, lnums = view.canvas.rows[row], {}
  local line = view.canvas.heights:before(row)
  for _, item in ipairs(rendered and rendered.items or {}) do
    if STOPS[stop].item(item) then
      lnums[#lnums + 1] = line + 1
    end
    line = line + #item.lines
  end
  return lnums
end

---The next row to stop at.
---@param view claude-ide.transcript.View
---@param row integer to start with
---@param step 1|-1
---@param stop claude-ide.transcript.Stop
---@return integer?
local function next_row(view, row, step, stop)
  local len = view.canvas.heights:len()
  local cache = {} ---@type table<integer, claude-ide.sessions.Row>
  while row >= 0 and row < len do
    local known = view.known[row] or cache[row]
    if not known then
      local from = step > 0 and row or math.max(row - ROWS + 1, 0)
      local rows = ask(view, from, ROWS)
      if not rows or not rows[row] then
        return nil
      end
      cache, known = rows, rows[row]
    end
    if STOPS[stop].row(known) then
      return row
    end
    row = row + step
  end
  return nil
end

---Moves to a line. One that was not visible scrolls to the top, so that the text below it is visible.
---@param view claude-ide.transcript.View
---@param lnum integer
local function go(view, lnum)
  local seen = lnum >= vim.fn.line("w0") and lnum <= vim.fn.line("w$")
  vim.api.nvim_win_set_cursor(0, { math.min(lnum, vim.api.nvim_buf_line_count(view.buf)), 0 })
  if not seen then
    vim.cmd("normal! zt")
  end
end

---Moves to a row and blocks until it is rendered.
---@param view claude-ide.transcript.View
---@param row integer
---@return boolean
function M.go_to_row(view, row)
  go(view, view.canvas.heights:before(row) + 1)
  loader.update(view)
  local rendered = vim.wait(M.WAIT_MS, function()
    return view.closed or view.canvas.rows[row] ~= nil
  end, 1)
  if rendered and not view.closed then
    local first = view.canvas.rows[row] and view.canvas.rows[row].items[1]
    local gap = first and first.kind == "gap" and 1 or 0
    go(view, view.canvas.heights:before(row) + 1 + gap)
  end
  return rendered
end

---@param view claude-ide.transcript.View
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@return boolean moved
local function jump_once(view, stop, step)
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local row = view.canvas.heights:at(lnum - 1) ---@type integer?
  while row do
    local target
    for _, stop_lnum in ipairs(lines_in(view, row, stop)) do
      local is_first = step > 0 and stop_lnum > lnum and not target
      if is_first or (step < 0 and stop_lnum < lnum) then
        target = stop_lnum
      end
    end
    if target then
      go(view, target)
      return true
    end
    local found = next_row(view, row + step, step, stop)
    if found and not view.canvas.rows[found] then
      local id = view.generation
      M.go_to_row(view, found)
      if view.closed or view.generation ~= id or not view.canvas.rows[found] then
        return true
      end
    end
    row = found
    if row then
      -- Search the row from its edge.
      lnum = step > 0 and view.canvas.heights:before(row) or view.canvas.heights:before(row + 1) + 1
    end
  end
  return false
end

---The row of the prompt `count` prompts away, or the last one before that.
---@param view claude-ide.transcript.View
---@param step 1|-1
---@param count integer
---@return integer? row
local function prompt_row(view, step, count)
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local row, found = view.canvas.heights:at(lnum - 1), nil
  local heading = lines_in(view, row, "prompt")[1]
  if heading and step < 0 and heading < lnum or heading and step > 0 and heading > lnum then
    row = row - step -- start with the row's own heading
  end
  for _ = 1, count do
    local next_one = next_row(view, row + step, step, "prompt")
    if not next_one then
      break
    end
    row, found = next_one, next_one
  end
  return found
end

---@param view claude-ide.transcript.View
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@param count integer
local function go_by(view, stop, step, count)
  if stop == "prompt" then
    local row = prompt_row(view, step, count)
    if row then
      M.go_to_row(view, row)
    end
    return
  end
  for _ = 1, count do
    if not jump_once(view, stop, step) then
      break
    end
  end
end

---Selects the range of an operator: lines added since would not move its start. An end before the first column excludes its line,
---as with any exclusive motion.
---@param from integer[] line from 1, byte
---@param to integer[] exclusive end
local function select_range(from, to)
  local function text(lnum)
    return vim.fn.getline(lnum) --[[@as string]]
  end
  local first, last, kind = from, { to[1], to[2] - 1 }, "v"
  if to[2] == 0 then
    last = { to[1] - 1, math.max(#text(to[1] - 1) - 1, 0) }
    kind = text(first[1]):sub(1, first[2]):find("%S") and "v" or "V"
  end
  vim.api.nvim_win_set_cursor(0, first)
  vim.cmd("normal! " .. kind)
  vim.api.nvim_win_set_cursor(0, last)
end

---Moves to a stop.
---@param view claude-ide.transcript.View
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@param count integer
function M.jump(view, stop, step, count)
  if not view.source:info() or view.closed then
    return
  end
  local from = vim.api.nvim_win_get_cursor(0)
  local spot = view.canvas:spot(from[1])
  local is_operator = waits.pending_range(view.buf) == "operator"
  vim.cmd("normal! m'")
  view.moving = true
  local ok, err = xpcall(go_by, debug.traceback, view, stop, step, count)
  view.moving = false
  if not ok then
    error(err, 0)
  end
  local start, now = { view.canvas:lnum(spot), from[2] }, vim.api.nvim_win_get_cursor(0)
  if now[1] == start[1] and vim.api.nvim_get_mode().mode == "n" then
    local where = step > 0 and "below" or "above"
    local what = ({ prompt = "prompt", tool = "tool call", edit = "edit" })[stop]
    notice.info(("No %s %s."):format(what, where))
  elseif now[1] ~= start[1] and is_operator then
    select_range(now[1] < start[1] and now or start, now[1] < start[1] and start or now)
  end
end

---Moves to a message, also on another branch or in the part of a huge transcript that is not read yet.
---@param view claude-ide.transcript.View
---@param id integer of the message
---@param win integer
---@param match? claude-ide.transcript.Match of that message
function M.go_to_message(view, id, win, match)
  local source = view.source
  if not source.position then
    return
  end
  source:position(id, function(position)
    if view.closed or not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= view.buf then
      return
    elseif position and position.place == "row" then
      vim.api.nvim_win_call(win, function()
        M.go_to_row(view, position.row)
        vim.cmd("normal! zt")
        if match then
          transcript_match.go(view, position.row, match)
        end
      end)
      loader.update(view)
    elseif position and position.place == "other_branch" and source.show_branch then
      source:show_branch(id, function(delta)
        if delta and not view.closed then
          follow.apply(view, delta)
          M.go_to_message(view, id, win, match)
        end
      end)
    end
  end)
end

---Moves to the message at a line of the session file.
---@param view claude-ide.transcript.View
---@param line integer from 1
---@param win integer
---@param match? claude-ide.transcript.Match
function M.go_to_line(view, line, win, match)
  local source = view.source
  if not source.message_at_line then
    return
  end
  local function look_up()
    source:message_at_line(line, function(id)
      if id and not view.closed then
        M.go_to_message(view, id, win, match)
      end
    end)
  end
  local info = source:info()
  if info and info.complete then
    look_up()
  else
    view.when_complete = look_up
  end
end

return M
