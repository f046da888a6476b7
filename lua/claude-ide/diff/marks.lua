-- Shows the differences of texts that are too much for Neovim's diff mode, with highlighted lines instead.
--
-- Measured on 0.10 to 0.12: diff mode takes time by the square of the hunks (5,000 hunks: 1 s, 25,000: 6.5 s), and with
-- `inline:` in 'diffopt' the first redraw takes time by the lines of a hunk (5,000 lines: 220 ms, 50,000: 5 s).
local M = {}

local MAX_BYTES = 4 * 1024 * 1024
local MAX_LINES = 100000
local MAX_HUNKS = 1000
local MAX_INLINE_LINES = 2000

---Past so many lines that one side has more in one place, the other side is not filled up to match.
local MAX_FILLER = 400

local namespace = vim.api.nvim_create_namespace("claude-ide.diff.marks")

---@param hunks claude-ide.buffer.Hunk[]
---@param lines integer of both sides
---@param bytes integer of both sides
---@return boolean
function M.needed(hunks, lines, bytes)
  if bytes > MAX_BYTES or lines > MAX_LINES or #hunks > MAX_HUNKS then
    return true
  end
  if not vim.o.diffopt:find("inline:", 1, true) then
    return false
  end
  for _, hunk in ipairs(hunks) do
    if hunk.old_count + hunk.new_count > MAX_INLINE_LINES then
      return true
    end
  end
  return false
end

---@param buf integer
---@param first integer 1-based
---@param count integer
---@param group string
local function mark_lines(buf, first, count, group)
  if count > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, first - 1, 0, {
      end_row = first - 1 + count,
      hl_group = group,
      hl_eol = true,
      strict = false,
      priority = 20,
    })
  end
end

---@param buf integer
---@param before integer 1-based; the filler goes above this line
---@param count integer
local function fill(buf, before, count)
  if count <= 0 or count > MAX_FILLER then
    return
  end
  local filler = {}
  for i = 1, count do
    filler[i] = { { "", "DiffDelete" } }
  end
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_buf_set_extmark(buf, namespace, math.min(before, last) - 1, 0, {
    virt_lines = filler,
    virt_lines_above = before <= last,
  })
end

---@param buf integer
---@param direction 1|-1
local function jump(buf, direction)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local from = direction == 1 and { row + 1, 0 } or { math.max(row - 1, 0), 0 }
  local marks = vim.api.nvim_buf_get_extmarks(buf, namespace, from, direction == 1 and -1 or 0, { limit = 1 })
  if marks[1] and (direction == 1 or row > 0) then
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { marks[1][2] + 1, 0 })
  end
end

---@param view claude-ide.diff.View
---@param hunks claude-ide.buffer.Hunk[]
function M.refresh(view, hunks)
  local now, proposal = view.bufs.now, view.bufs.proposal
  for _, buf in pairs(view.bufs) do
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
  for _, hunk in ipairs(hunks) do
    local changed = hunk.old_count > 0 and hunk.new_count > 0
    mark_lines(now, hunk.old, hunk.old_count, changed and "DiffChange" or "DiffDelete")
    mark_lines(proposal, hunk.new, hunk.new_count, changed and "DiffChange" or "DiffAdd")
    fill(now, hunk.old + hunk.old_count, hunk.new_count - hunk.old_count)
    fill(proposal, hunk.new + hunk.new_count, hunk.old_count - hunk.new_count)
  end
end

---@param view claude-ide.diff.View
---@param hunks claude-ide.buffer.Hunk[]
function M.show(view, hunks)
  M.refresh(view, hunks)
  for _, side in ipairs({ "now", "proposal" }) do
    local win, buf = view.wins[side], view.bufs[side]
    vim.wo[win][0].scrollbind = true
    vim.wo[win][0].wrap = false
    for key, direction in pairs({ ["]c"] = 1, ["[c"] = -1 }) do
      vim.keymap.set("n", key, function()
        jump(buf, direction)
      end, { buffer = buf, desc = "Claude Code: another change" })
    end
  end
end

---@param view claude-ide.diff.View
function M.hide(view)
  if not (view.plain and view.wins.now) then
    return
  end
  for side, buf in pairs(view.bufs) do
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    vim.wo[view.wins[side]][0].wrap = vim.go.wrap
    for _, key in ipairs({ "]c", "[c" }) do
      pcall(vim.keymap.del, "n", key, { buffer = buf })
    end
  end
end

return M
