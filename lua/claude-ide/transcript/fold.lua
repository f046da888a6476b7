-- Folds of a transcript. They are manual and created with a row's text.
-- Also the text of closed folds.

local lazy = require("claude-ide.lazy")
local ide_width = lazy("claude-ide.base.width")
local open_views = lazy("claude-ide.transcript.open_views")
local phrases = lazy("claude-ide.sessions.phrases")

local M = {}

---@param line integer first line of the item, 0-based
---@param item claude-ide.transcript.Item
---@param closed? table<string, boolean> by fold key
local function create(line, item, closed)
  for _, fold in ipairs(item.folds) do
    local first, last = line + fold.first + 1, line + fold.last + 1
    vim.cmd(("silent! %d,%dfold"):format(first, last))
    local is_closed = fold.closed
    if closed and closed[fold.key] ~= nil then
      is_closed = closed[fold.key]
    end
    if not is_closed then
      vim.cmd(("silent! %dfoldopen"):format(first))
    end
  end
end

---@param canvas claude-ide.transcript.Canvas
---@param created claude-ide.transcript.NewFold[]
function M.create(canvas, created)
  if #created == 0 then
    return
  end
  ---@type { line: integer, new: claude-ide.transcript.NewFold }[]
  local placed = {}
  for _, new in ipairs(created) do
    local rendered = canvas.rows[new.row]
    local line = canvas:before(new.row)
    for _, item in ipairs(rendered and rendered.items or {}) do
      if item == new.item then
        placed[#placed + 1] = { line = line, new = new }
        break
      end
      line = line + #item.lines
    end
  end
  for _, win in ipairs(vim.fn.win_findbuf(canvas.buf)) do
    vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      for _, each in ipairs(placed) do
        create(each.line, each.new.item, each.new.closed[win])
      end
      vim.fn.winrestview(view)
    end)
  end
end

---Creates all folds again in a window that shows the buffer (again).
---@param canvas claude-ide.transcript.Canvas
---@param win integer
function M.create_all(canvas, win)
  vim.api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    vim.cmd("silent! normal! zE")
    local line = canvas:before(canvas.first)
    for row = canvas.first, canvas.stop - 1 do -- in order: Neovim keeps folds sorted
      for _, item in ipairs(canvas.rows[row].items) do
        create(line, item)
        line = line + #item.lines
      end
    end
    vim.fn.winrestview(view)
  end)
end

---Maximum width of a fold's line.
local WIDEST = 100

---Minimum width of its subject.
local LEAST_ABOUT = 8

---The chunks on the right that fit beside a minimal left side. A call first drops how long it waited for the user, then its duration;
---the outcome stays.
---@param fold claude-ide.transcript.Fold
---@param width integer
---@return claude-ide.transcript.Chunk[]
local function right_of(fold, width)
  local width_of = ide_width.of_chunks
  local about = fold.left[2] and vim.api.nvim_strwidth(fold.left[2][1]) or 0
  local room = width - width_of(fold.left) + math.max(about - LEAST_ABOUT, 0) - 2
  local right = vim.list_slice(fold.right)
  while #right > 1 and width_of(right) > room do
    table.remove(right, #right > 2 and 1 or 2)
  end
  return right
end

---A fold's line: subject on the left, outcome on the right. The second chunk on the left is shortened.
---@param fold claude-ide.transcript.Fold
---@param width integer
---@return claude-ide.transcript.Chunk[]
function M.spread(fold, width)
  width = math.min(width, WIDEST)
  local left = vim.list_slice(fold.left)
  local right = right_of(fold, width)
  local width_of = ide_width.of_chunks
  local space = width - width_of(right) - (#right > 0 and 2 or 0)
  local over = width_of(left) - space
  if over > 0 and left[2] then
    local room = vim.api.nvim_strwidth(left[2][1]) - over
    left[2] = { phrases.fit(left[2][1], math.max(room, LEAST_ABOUT)), left[2][2] }
  end
  local gap = width - width_of(left) - width_of(right)
  if #right > 0 then
    left[#left + 1] = { (" "):rep(math.max(gap, 2)), "ClaudeTranscriptFold" }
    vim.list_extend(left, right)
  end
  return left
end

---'foldtext' of a transcript's window.
---@return claude-ide.transcript.Chunk[]|string
function M.text()
  local view = open_views.of_buffer(vim.api.nvim_get_current_buf())
  local first, last = vim.v.foldstart, vim.v.foldend
  if view then
    local spot, item = view.canvas:spot(first)
    for _, fold in ipairs(item and item.folds or {}) do
      if fold.first == spot.offset and fold.last - fold.first == last - first then
        local info = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
        return M.spread(fold, info.width - info.textoff)
      end
    end
  end
  return vim.fn.getline(first) --[[@as string]]
end

return M
