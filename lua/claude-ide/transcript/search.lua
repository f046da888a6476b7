-- Extends `/`, `?`, `n` and `N` to messages that are not in the buffer's text: Neovim searches the text, and this module the
-- messages between the cursor and Neovim's match, with the same pattern and order.

local lazy = require("claude-ide.lazy")
local motions = lazy("claude-ide.transcript.motions")
local notice = lazy("claude-ide.base.notice")
local offscreen = lazy("claude-ide.transcript.offscreen")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@class claude-ide.transcript.Search
---@field view claude-ide.transcript.View
---@field win integer
---@field origin claude-ide.transcript.SearchPlace cursor before the search
---@field landed? claude-ide.transcript.SearchPlace Neovim's match
---@field forward boolean
---@field pattern string
---@field cancel? fun()

---@class claude-ide.transcript.SearchPlace stable while lines come and go
---@field spot claude-ide.transcript.Spot
---@field col integer

---@type claude-ide.transcript.Search?
local running

---@param view claude-ide.transcript.View
---@param cursor integer[]
---@return claude-ide.transcript.SearchPlace
local function place_of(view, cursor)
  return { spot = view.canvas:spot(cursor[1]), col = cursor[2] }
end

---@param one claude-ide.transcript.SearchPlace
---@param other claude-ide.transcript.SearchPlace
---@return boolean
local function is_same(one, other)
  local is_line = one.spot.key == other.spot.key and one.spot.offset == other.spot.offset
  -- The row may have been rendered since.
  is_line = is_line or one.spot.item == 0 or other.spot.item == 0
  return one.spot.row == other.spot.row and is_line and one.col == other.col
end

---Rows without text between the cursor and Neovim's match.
---@param search claude-ide.transcript.Search
---@return integer[]
local function rows_passed(search)
  local canvas = search.view.canvas
  local len = canvas.heights:len()
  local from, to = search.origin.spot.row, search.landed and search.landed.spot.row
  local step = search.forward and 1 or -1
  local rows, row = {}, from
  for _ = 1, len do
    row = row + step
    if row < 0 or row >= len then
      if not vim.o.wrapscan then
        break
      end
      row = row < 0 and len - 1 or 0
    end
    if row == to then
      break
    elseif not canvas.rows[row] then
      rows[#rows + 1] = row
    end
  end
  return rows
end

---@param search claude-ide.transcript.Search
---@param place? claude-ide.transcript.SearchPlace
local function go(search, place)
  if place then
    vim.api.nvim_win_set_cursor(search.win, { search.view.canvas:lnum(place.spot), place.col })
    vim.api.nvim_win_call(search.win, function()
      vim.cmd("normal! zv")
    end)
  end
end

---Moves to the match in a row after rendering it.
---@param search claude-ide.transcript.Search
---@param row integer
local function go_to_row(search, row)
  local view = search.view
  vim.api.nvim_win_call(search.win, function()
    vim.cmd("normal! m'")
    if not motions.go_to_row(view, row) then
      return
    end
    local first = view.canvas.heights:before(row) + 1
    local last = first + view.canvas.heights:get(row) - 1
    local flags = search.forward and "cW" or "bcW"
    local place = search.forward and { first, 0 } or { last, math.max(#vim.fn.getline(last) - 1, 0) }
    vim.api.nvim_win_set_cursor(0, place)
    vim.fn.search(search.pattern, flags, search.forward and last or first)
    vim.cmd("normal! zv")
  end)
end

---@param search claude-ide.transcript.Search
---@param finished boolean
---@param row? integer
local function finish(search, finished, row)
  if running ~= search then
    return
  end
  running = nil
  local is_there = vim.api.nvim_win_is_valid(search.win)
    and vim.api.nvim_win_get_buf(search.win) == search.view.buf
  if not finished or not is_there then
    return
  elseif row then
    vim.cmd("echo ''")
    go_to_row(search, row)
  elseif search.landed then
    vim.cmd("echo ''")
    go(search, search.landed)
  else
    notice.warn(("Pattern not found: %s"):format(search.pattern))
  end
end

---Continues Neovim's search in messages without text.
---@param search claude-ide.transcript.Search
local function look_on(search)
  local rows = rows_passed(search)
  local ok, regex = pcall(vim.regex, (vim.o.ignorecase and "\\c" or "") .. search.pattern)
  if #rows == 0 or not ok then
    return
  end
  -- Apply 'smartcase'.
  if vim.o.ignorecase and vim.o.smartcase and search.pattern:find("%u") then
    regex = vim.regex("\\C" .. search.pattern)
  end
  M.stop()
  running = search
  go(search, search.landed and search.origin)
  notice.info(("Searching %d messages …"):format(#rows))
  local found
  search.cancel = offscreen.visit(search.view, rows, function(row, items)
    for _, item in ipairs(items) do
      for _, line in ipairs(item.lines) do
        if regex:match_str(line) then
          found = row
          return true
        end
      end
    end
  end, function(finished)
    finish(search, finished, found)
  end)
end

---Cancels the search.
function M.stop()
  local search = running
  running = nil
  if search and search.cancel then
    search.cancel()
  end
end

---Cancels the search when the cursor moves.
---@param view claude-ide.transcript.View
function M.moved(view)
  if running and running.view == view and vim.api.nvim_get_current_win() == running.win then
    if not is_same(place_of(view, vim.api.nvim_win_get_cursor(running.win)), running.origin) then
      M.stop()
    end
  end
end

---@param view claude-ide.transcript.View
---@param origin claude-ide.transcript.SearchPlace
---@param forward boolean
local function after(view, origin, forward)
  local win = vim.api.nvim_get_current_win()
  local pattern = vim.fn.getreg("/") --[[@as string]]
  if vim.api.nvim_win_get_buf(win) ~= view.buf or pattern == "" then
    return
  end
  local landed = place_of(view, vim.api.nvim_win_get_cursor(win))
  look_on({
    view = view,
    win = win,
    origin = origin,
    landed = not is_same(landed, origin) and landed or nil,
    forward = forward,
    pattern = pattern,
  })
end

---`n` or `N`.
---@param view claude-ide.transcript.View
---@param key "n"|"N"
function M.again(view, key)
  local origin = place_of(view, vim.api.nvim_win_get_cursor(0))
  local count = vim.v.count > 0 and vim.v.count or ""
  local ok, err = pcall(vim.cmd.normal, { ("%s%szv"):format(count, key), bang = true })
  local forward = (vim.v.searchforward == 1) == (key == "n")
  if offscreen.has_gaps(view) then
    after(view, origin, forward)
  elseif not ok then
    notice.warn((tostring(err):gsub("^.-Vim%b():", ""):gsub("^Vim:", "")))
  end
end

---Handles searches that are typed.
---@param view claude-ide.transcript.View
---@param group integer
function M.listen(view, group)
  local origin ---@type claude-ide.transcript.SearchPlace?
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, {
      group = group,
      pattern = { "/", "?" },
      desc = "Claude Code: search all of a transcript",
      callback = callback,
    })
  end
  on("CmdlineEnter", function()
    local is_here = vim.api.nvim_get_current_buf() == view.buf
    origin = is_here and place_of(view, vim.api.nvim_win_get_cursor(0)) or nil
  end)
  on("CmdlineLeave", function()
    local from, forward = origin, vim.fn.getcmdtype() == "/"
    origin = nil
    if not from or vim.v.event.abort or not offscreen.has_gaps(view) then
      return
    end
    vim.schedule(function()
      if not view.closed and not waits.pending_range(view.buf) then
        after(view, from, forward)
      end
    end)
  end)
end

return M
