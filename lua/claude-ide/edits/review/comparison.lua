-- Compares the two sides of a review, with the layouts and drawing of proposals. Marks the changes that are the user's too, and those
-- reviewed.
local lazy = require("claude-ide.lazy")
local hunks = lazy("claude-ide.edits.review.hunks")
local pair = lazy("claude-ide.ui.diffview.pair")
local patch = lazy("claude-ide.editor.buffer.patch")
local sides = lazy("claude-ide.edits.review.sides")
local unified = lazy("claude-ide.ui.diffview.unified")

---@class claude-ide.review.comparison
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.review.view")

---@param view claude-ide.review.View
---@return integer
local function line_count(view)
  local buf = view.bufs.right
  local count = vim.api.nvim_buf_line_count(buf)
  local is_empty = count == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == ""
  return is_empty and sides.is_ours(buf) and 0 or count
end

---The differences between the sides, as the journal has computed them; computed here while the user types.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@return claude-ide.buffer.Hunk[]
local function differences(view, entry)
  if not entry.change then
    return {}
  end
  local created = entry.change.kind == "created"
  local list, count = {}, created and 0 or #view.lines
  for _, hunk in ipairs(entry.change.moved_from and {} or hunks.remaining(entry.change)) do
    local old_count, new_count = #hunk.before_lines, #hunk.after_lines
    -- An empty file is created or deleted without a line.
    if old_count + new_count > 0 then
      list[#list + 1] = {
        old = hunk.before_start,
        old_count = old_count,
        new = hunk.current_start,
        new_count = new_count,
      }
      count = count + new_count - old_count
    end
  end
  if #list == 0 then
    return list
  end
  local lines = line_count(view)
  if count == lines then
    return list
  end
  return patch.hunks(
    created and {} or view.lines,
    vim.api.nvim_buf_get_lines(view.bufs.right, 0, lines, true)
  )
end

---Draws the notes beside the changes.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function note(view, entry)
  local buf = view.bufs.right
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, hunk in ipairs(entry.change and not entry.change.by_user and hunks.remaining(entry.change) or {}) do
    local said = hunk.state == "conflict" and { "! you edited this too; not undone", "ClaudeDiffWarning" }
      or hunk.reviewed and { "✓ reviewed", "ClaudeReviewDone" }
    if said then
      local row = math.min(hunks.place(hunk, "file"), vim.api.nvim_buf_line_count(buf)) - 1
      vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_text = { said }, virt_text_pos = "eol" })
    end
  end
end

---Draws the notes, and opens the single fold of a text without differences.
---@param view claude-ide.review.View
local function complete(view)
  if #view.hunks.list == 0 then
    for _, side in ipairs({ "left", "right" }) do
      if view.wins[side] then
        vim.wo[view.wins[side]][0].foldenable = false
      end
    end
  end
  note(view, view.entry)
end

---@param view claude-ide.review.View with both texts
---@return boolean
function M.needs_one_window(view)
  local change = view.entry.change
  local bytes = change and #change.without + #(change.current or "") or 0
  local needs = pair.needs_one_window
  return needs(differences(view, view.entry), #view.lines, line_count(view), bytes)
end

---@param view claude-ide.review.View
function M.start(view)
  local list, buf = differences(view, view.entry), view.bufs.right
  view.hunks = { buf = buf, format = { empty = false }, old = view.lines, list = list, scheduled = false }
  pair.compare(view)
  complete(view)
end

---Updates after a change of the texts or of the journal.
---@param view claude-ide.review.View
---@param lines string[] the side before
function M.refresh(view, lines)
  if not view.hunks then
    return
  end
  local is_other = not vim.deep_equal(lines, view.lines)
  if is_other then
    view.lines = lines
  end
  local list = differences(view, view.entry)
  if is_other or not vim.deep_equal(view.hunks.list, list) then
    pair.keep_row(view, function()
      if is_other then
        sides.fill(view.bufs.left, lines)
      end
      view.hunks.old, view.hunks.list = lines, list
      unified.unfold_changes(view)
      pair.refresh(view)
    end)
  end
  complete(view)
end

---Scrolls to the removed lines of the change at the cursor, which are drawn above it.
---@param view claude-ide.review.View
function M.reveal(view)
  local win = view.wins.right
  if not view.hunks or view.wins.left or vim.api.nvim_get_current_win() ~= win then
    return
  end
  local lnum, last = vim.api.nvim_win_get_cursor(win)[1], vim.api.nvim_buf_line_count(view.bufs.right)
  for _, hunk in ipairs(view.hunks.list) do
    if math.min(math.max(hunk.new, 1), last) == lnum then
      return unified.go_to(view, hunk, win)
    end
  end
end

---Removes the comparison from windows and buffers.
---@param view claude-ide.review.View
function M.stop(view)
  if view.hunks then
    pair.end_comparing(view)
    view.hunks = nil
  end
  if vim.api.nvim_buf_is_valid(view.bufs.right) then
    vim.api.nvim_buf_clear_namespace(view.bufs.right, namespace, 0, -1)
  end
end

return M
