-- Diff mode's keys: `]c` and `[c` in every layout, since diff mode itself stops at each pair of lines; and `do` in layouts without
-- diff mode. And what the key for removed lines does.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local first_change = lazy("claude-ide.ui.diffview.first_change")
local hunks = lazy("claude-ide.ui.diffview.hunks")
local notice = lazy("claude-ide.base.notice")
local text_float = lazy("claude-ide.ui.text_float")
local typing = lazy("claude-ide.ui.guard.typing")
local unified = lazy("claude-ide.ui.diffview.unified")
local window = lazy("claude-ide.base.window")

local M = {}

---@param pair claude-ide.diffview.Pair
---@param buf integer
---@return claude-ide.diffview.Side
local function side_of(pair, buf)
  return buf == pair.bufs.left and "left" or "right"
end

---Goes to the next or previous change, [count] times.
---@param pair claude-ide.diffview.Pair
---@param direction 1|-1
function M.jump(pair, direction)
  local buf = vim.api.nvim_get_current_buf()
  local start = side_of(pair, buf) == "left" and "old" or "new"
  local lnum, last = vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(buf)
  local list, left, found = pair.hunks.list, vim.v.count1, nil
  local is_shown = vim.api.nvim_win_is_valid(pair.wins.right) -- not if it was closed a moment ago
  local seen = is_shown and pair.wins.left and first_change.is_seen
  for i = direction == 1 and 1 or #list, direction == 1 and #list or 1, direction do
    local further = (math.min(list[i][start], last) - lnum) * direction > 0
    if further and (not seen or seen(pair.wins.right, list[i])) then
      found, left = list[i], left - 1
      if left == 0 then
        break
      end
    end
  end
  if not found then
    return
  end
  vim.cmd("normal! m'")
  if pair.wins.left then
    vim.api.nvim_win_set_cursor(0, { math.min(math.max(found[start], 1), last), 0 })
    vim.cmd("normal! zv")
  else
    unified.go_to(pair, found, vim.api.nvim_get_current_win())
  end
end

---Replaces the change under the cursor by the current text.
---@param pair claude-ide.diffview.Pair
function M.obtain(pair)
  local side = side_of(pair, vim.api.nvim_get_current_buf())
  if not vim.bo[pair.bufs.right].modifiable then
    return
  end
  local hunk = hunks.at(pair.hunks, side, vim.api.nvim_win_get_cursor(0)[1])
  if hunk then
    hunks.drop(pair.hunks, hunk)
  end
end

---Shows all removed lines of the change under the cursor in a float.
---@param pair? claude-ide.diffview.Pair nil: none, as in the list of a review
function M.show_removed(pair)
  local hunk, buf = nil, vim.api.nvim_get_current_buf() ---@type claude-ide.buffer.Hunk?, integer
  if pair and pair.hunks and vim.tbl_contains(vim.tbl_values(pair.bufs), buf) then
    hunk = hunks.at(pair.hunks, side_of(pair, buf), vim.fn.line("."))
  end
  if not pair or not hunk or hunk.old_count == 0 then
    notice.info("No lines are removed here.")
    return
  end
  local lines = vim.list_slice(pair.hunks.old, hunk.old, hunk.old + hunk.old_count - 1)
  local title = counted(#lines, "removed line")
  M.hide_removed(pair)
  pair.removed_win = text_float.show(lines, title, vim.bo[pair.bufs.left].filetype)
end

---@param pair claude-ide.diffview.Pair
function M.hide_removed(pair)
  local win = pair.removed_win
  pair.removed_win = nil
  window.close(win)
end

---@param pair claude-ide.diffview.Pair
function M.map(pair)
  M.unmap(pair)
  local maps = {} ---@type { buf: integer, lhs: string }[]
  ---@param side claude-ide.diffview.Side
  ---@param lhs string
  ---@param desc string
  ---@param run fun()
  local function map(side, lhs, desc, run)
    local buf = pair.bufs[side]
    local function pressed()
      local here = vim.api.nvim_get_current_buf()
      if here == pair.bufs.left or here == pair.bufs.right then
        run()
      else
        -- The diff was decided, and another screen appeared between the key and this.
        typing.pass_on()
      end
    end
    vim.keymap.set("n", lhs, pressed, { buffer = buf, desc = "Claude Code: " .. desc })
    maps[#maps + 1] = { buf = buf, lhs = lhs }
  end
  for _, side in ipairs({ "left", "right" }) do
    map(side, "]c", "the next change", function()
      M.jump(pair, 1)
    end)
    map(side, "[c", "the previous change", function()
      M.jump(pair, -1)
    end)
    if not pair.wins.left then
      map(side, side == "left" and "dp" or "do", "restore the current text of this change", function()
        M.obtain(pair)
      end)
    end
  end
  pair.unmap_keys = function()
    for _, one in ipairs(maps) do
      if vim.api.nvim_buf_is_valid(one.buf) then
        pcall(vim.keymap.del, "n", one.lhs, { buffer = one.buf })
      end
    end
  end
end

---@param pair claude-ide.diffview.Pair
function M.unmap(pair)
  local unmap = pair.unmap_keys
  if not unmap then
    return
  end
  pair.unmap_keys = nil
  if typing.is_function_chosen() then
    vim.schedule(unmap)
  else
    unmap()
  end
end

return M
