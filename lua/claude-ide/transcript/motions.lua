-- Motions between prompts, tool calls and edits, and to a message. They load earlier messages when they need them.

local lazy = require("claude-ide.lazy")
local follow = lazy("claude-ide.transcript.follow")
local loader = lazy("claude-ide.transcript.loader")
local notice = lazy("claude-ide.base.notice")
local render = lazy("claude-ide.transcript.render")
local transcript_match = lazy("claude-ide.transcript.match")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@alias claude-ide.transcript.Stop "prompt"|"tool"|"edit"

---How long a jump may wait for earlier messages.
M.WAIT_MS = 1000

---Whether a row's item is one to stop at.
---@type table<claude-ide.transcript.Stop, fun(item: claude-ide.transcript.Item, row: claude-ide.sessions.Row): boolean>
local IS_STOP = {
  prompt = function(item, row)
    return item.kind == "heading" and render.is_prompt(row.kind)
  end,
  tool = function(item)
    return item.kind == "tool"
  end,
  edit = function(item)
    return item.edit == true
  end,
}

---The next line to stop at, in the buffer.
---@param view claude-ide.transcript.View
---@param from integer line, from 1
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@return integer? lnum
local function next_stop(view, from, stop, step)
  local canvas, found = view.canvas, nil
  local row = canvas:at(from)
  local rendered = canvas.rows[row]
  while rendered and not found do
    local lnum = canvas:before(row) + 1
    for _, item in ipairs(rendered.items) do
      if IS_STOP[stop](item, rendered.row) and (step > 0 and lnum > from or step < 0 and lnum < from) then
        found = step > 0 and found or lnum
      end
      lnum = lnum + #item.lines
    end
    row = row + step
    rendered = canvas.rows[row]
  end
  return found
end

---Loads earlier messages and blocks until some are there: an operator needs the end of its motion.
---@param view claude-ide.transcript.View
---@param deadline number
---@return boolean
local function load_earlier(view, deadline)
  local canvas, generation = view.canvas, view.generation
  local first = canvas.first
  local left = math.ceil(deadline - vim.uv.hrtime() / 1e6)
  if first == 0 or left <= 0 then
    return false
  end
  loader.load(view, first - 1, function() end)
  vim.wait(left, function()
    return view.closed or canvas.first < first or view.generation ~= generation
  end, 1)
  return not view.closed and canvas == view.canvas and view.generation == generation and canvas.first < first
end

---The line to stop at `count` stops away, or the last one before that.
---@param view claude-ide.transcript.View
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@param count integer
---@return integer? lnum
local function find(view, stop, step, count)
  local canvas, deadline = view.canvas, vim.uv.hrtime() / 1e6 + M.WAIT_MS
  local lnum, found = vim.api.nvim_win_get_cursor(0)[1], nil
  local spot = canvas:spot(step < 0 and canvas:is_head(lnum) and lnum + 1 or lnum)
  while count > 0 do
    local next_one = next_stop(view, canvas:lnum(spot), stop, step)
    if next_one then
      spot, count = canvas:spot(next_one), count - 1
      found = spot
    elseif step > 0 or not load_earlier(view, deadline) then
      break
    end
  end
  return found and view.canvas == canvas and canvas:lnum(found) or nil
end

---Rows that are loaded without a word.
local FEW_ROWS = 400

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

---Moves to a row.
---@param view claude-ide.transcript.View
---@param row integer rendered
local function go_to_row(view, row)
  local top = view.canvas.rows[row].items[1]
  go(view, view.canvas:before(row) + 1 + (top and top.kind == "gap" and 1 or 0))
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
  local ok, found = xpcall(find, debug.traceback, view, stop, step, count)
  view.moving = false
  if not ok then
    error(found, 0)
  elseif found then
    go(view, found)
  end
  local start, now = { view.canvas:lnum(spot), from[2] }, vim.api.nvim_win_get_cursor(0)
  if now[1] == start[1] and vim.api.nvim_get_mode().mode == "n" then
    local where = step > 0 and "below" or "above"
    local what = ({ prompt = "prompt", tool = "tool call", edit = "edit" })[stop]
    local more = step < 0 and view.canvas:has_earlier() and " in what is loaded" or ""
    notice.info(("No %s %s%s."):format(what, where, more))
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
      local count = view.canvas.first - position.row
      if count > FEW_ROWS then
        notice.info(("Loading %d messages …"):format(count))
      end
      loader.load(view, position.row, function()
        if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == view.buf then
          vim.api.nvim_win_call(win, function()
            go_to_row(view, position.row)
            vim.cmd("normal! zt")
            if match then
              transcript_match.go(view, position.row, match)
            end
          end)
          loader.update(view)
        end
      end)
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
