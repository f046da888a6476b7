-- The rows near windows, which are drawn again and highlighted first.

local M = {}

---@param canvas claude-ide.transcript.Canvas
---@param row integer to begin with
---@param step 1|-1
---@param lines integer how many to fill
---@param visit fun(row: integer)
local function walk(canvas, row, step, lines, visit)
  local rendered = canvas.rows[row]
  while lines > 0 and rendered do
    visit(row)
    lines = lines - rendered.shown
    row = row + step
    rendered = canvas.rows[row]
  end
end

---Rows that are visible in a window, then those around them.
---@param canvas claude-ide.transcript.Canvas
---@return integer[]
function M.near(canvas)
  local rows, seen = {}, {}
  local function visit(row)
    if not seen[row] and canvas.rows[row] then
      seen[row] = true
      rows[#rows + 1] = row
    end
  end
  local spans = {} ---@type { first: integer, last: integer, height: integer }[]
  for _, win in ipairs(vim.fn.win_findbuf(canvas.buf)) do
    local first, last = canvas:at(vim.fn.line("w0", win)), canvas:at(vim.fn.line("w$", win))
    spans[#spans + 1] = { first = first, last = last, height = vim.api.nvim_win_get_height(win) }
    for row = last, first, -1 do
      visit(row)
    end
  end
  for _, span in ipairs(spans) do
    walk(canvas, span.last + 1, 1, 2 * span.height, visit)
    walk(canvas, span.first - 1, -1, 2 * span.height, visit)
  end
  return rows
end

return M
