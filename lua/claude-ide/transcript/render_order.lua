-- Order of rendering: visible rows, then those around them, nearest first. Pure, except for the windows' visible lines.

local M = {}

---@class claude-ide.transcript.Range visible lines of a window, from 1
---@field top integer
---@field bottom integer
---@field height integer of the window; with closed folds more lines are visible

---@param buf integer
---@return claude-ide.transcript.Range[]
function M.ranges(buf)
  return vim
    .iter(vim.fn.win_findbuf(buf))
    :map(function(win)
      return vim.api.nvim_win_call(win, function()
        local top, bottom, height = vim.fn.line("w0"), vim.fn.line("w$"), vim.api.nvim_win_get_height(win)
        return { top = top, bottom = math.max(bottom, top + height - 1), height = height }
      end)
    end)
    :totable()
end

---@param canvas claude-ide.transcript.Canvas
---@param row integer
---@return boolean
local function is_wanting(canvas, row)
  local rendered = canvas.rows[row]
  return not rendered or rendered.stale == true
end

---Visits rows from `row` on until they fill `lines` lines.
---@param canvas claude-ide.transcript.Canvas
---@param row integer
---@param step 1|-1
---@param lines integer
---@param visit fun(row: integer)
local function walk(canvas, row, step, lines, visit)
  local len = canvas.heights:len()
  while lines > 0 and row >= 0 and row < len do
    visit(row)
    local rendered = canvas.rows[row]
    -- Estimate for a row that is not rendered.
    lines = lines - (rendered and rendered.shown or 3)
    row = row + step
  end
end

---Visits visible rows, then those around them, nearest first; some more than once.
---@param canvas claude-ide.transcript.Canvas
---@param ranges claude-ide.transcript.Range[]
---@param visit fun(row: integer)
local function each_near(canvas, ranges, visit)
  if canvas.heights:len() == 0 then
    return
  end
  local spans = {} ---@type { first: integer, last: integer, height: integer }[]
  for at, range in ipairs(ranges) do
    local first, last = canvas.heights:at(range.top - 1), canvas.heights:at(range.bottom - 1)
    spans[at] = { first = first, last = last, height = range.height }
    for row = last, first, -1 do
      visit(row)
    end
  end
  for _, span in ipairs(spans) do
    walk(canvas, span.last + 1, 1, span.height, visit)
    walk(canvas, span.first - 1, -1, 2 * span.height, visit)
    walk(canvas, span.last + 1, 1, 2 * span.height, visit)
  end
end

---@param canvas claude-ide.transcript.Canvas
---@param ranges claude-ide.transcript.Range[]
---@param limit integer
---@return integer[] rows
function M.wanted(canvas, ranges, limit)
  local rows, seen = {}, {}
  each_near(canvas, ranges, function(row)
    if not seen[row] and is_wanting(canvas, row) and #rows < limit then
      seen[row] = true
      rows[#rows + 1] = row
    end
  end)
  return rows
end

---Rows to render next around the visible ones, at any distance.
---@param canvas claude-ide.transcript.Canvas
---@param ranges claude-ide.transcript.Range[]
---@param limit integer
---@return integer[] rows
function M.around(canvas, ranges, limit)
  local rows, len = {}, canvas.heights:len()
  local range = ranges[1]
  if len == 0 or not range then
    return rows
  end
  local above, below = canvas.heights:at(range.top - 1), canvas.heights:at(range.bottom - 1)
  while #rows < limit and (above >= 0 or below < len) do
    if above >= 0 and is_wanting(canvas, above) then
      rows[#rows + 1] = above
    end
    if below < len and below > above and is_wanting(canvas, below) and #rows < limit then
      rows[#rows + 1] = below
    end
    above, below = above - 1, below + 1
  end
  return rows
end

---Rows to drop, farthest from any window first, until `most` lines are left. Never a near one: it would be rendered again at once.
---@param canvas claude-ide.transcript.Canvas
---@param ranges claude-ide.transcript.Range[]
---@param most integer lines to keep
---@return integer[] rows
function M.far(canvas, ranges, most)
  if canvas.lines <= most then
    return {}
  end
  local centers = vim.tbl_map(function(range)
    local row = canvas.heights:at(math.floor((range.top + range.bottom) / 2) - 1 --[[@as integer]])
    return row
  end, ranges)
  local near = {} ---@type table<integer, true>
  each_near(canvas, ranges, function(row)
    near[row] = true
  end)
  local rows = vim.tbl_filter(function(row)
    return not near[row]
  end, vim.tbl_keys(canvas.rows))
  local distance = {}
  for _, row in ipairs(rows) do
    local least = math.huge
    for _, center in ipairs(centers) do
      least = math.min(least, math.abs(row - center))
    end
    distance[row] = least
  end
  table.sort(rows, function(left, right)
    return distance[left] > distance[right]
  end)
  local far, left = {}, canvas.lines
  for _, row in ipairs(rows) do
    if left <= most then
      break
    end
    left = left - canvas.rows[row].height
    far[#far + 1] = row
  end
  return far
end

return M
