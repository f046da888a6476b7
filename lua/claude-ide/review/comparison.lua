-- The two sides of a review compared on the screen, in the same layouts and with the same drawing as a proposal's.
-- Adds what the journal knows: which changes are the user's too, which are reviewed.
---@class claude-ide.review.comparison
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.review.view")

---@param view claude-ide.review.View
---@return integer
local function line_count(view)
  local buf = view.bufs.file
  local count = vim.api.nvim_buf_line_count(buf)
  local is_empty = count == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == ""
  return is_empty and require("claude-ide.review.sides").is_ours(buf) and 0 or count
end

---What differs between the sides. The journal has compared them already, unless somebody types.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@return claude-ide.buffer.Hunk[]
local function differences(view, entry)
  if not entry.change then
    return {}
  end
  local created = entry.change.kind == "created"
  local list, count = {}, created and 0 or #view.lines
  for _, hunk in
    ipairs(entry.change.moved_from and {} or require("claude-ide.review.hunks").left(entry.change))
  do
    local old_count, new_count = #hunk.before_lines, #hunk.after_lines
    -- A file that holds nothing was made or removed without any line.
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
  return require("claude-ide.buffer.patch").hunks(
    created and {} or view.lines,
    vim.api.nvim_buf_get_lines(view.bufs.file, 0, lines, true)
  )
end

---Says beside a change what the texts do not show.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function note(view, entry)
  local hunks, buf = require("claude-ide.review.hunks"), view.bufs.file
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, hunk in ipairs(entry.change and hunks.left(entry.change) or {}) do
    local said = hunk.state == "conflict" and { "! you changed this too, so it stays", "ClaudeDiffWarning" }
      or hunk.reviewed and { "✓ reviewed", "ClaudeReviewDone" }
    if said then
      local row = math.min(hunks.place(hunk, "file"), vim.api.nvim_buf_line_count(buf)) - 1
      vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_text = { said }, virt_text_pos = "eol" })
    end
  end
end

---Without a difference all of the text would be one fold.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function unfold(view, entry)
  if not entry.change or #differences(view, entry) == 0 then
    for _, win in pairs(view.pair.wins) do
      vim.wo[win][0].foldenable = false
    end
  end
end

---@param view claude-ide.review.View with both texts
---@param entry claude-ide.review.Entry
---@return boolean
function M.needs_one_window(view, entry)
  local change = entry.change
  local bytes = change and #change.without + #(change.current or "") or 0
  local needs = require("claude-ide.diffview.pair").needs_one_window
  return needs(differences(view, entry), #view.lines, line_count(view), bytes)
end

---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
function M.start(view, entry)
  view.pair = {
    bufs = { now = view.bufs.before, proposal = view.bufs.file },
    wins = { now = view.wins.before, proposal = view.wins.file },
    hunks = {
      buf = view.bufs.file,
      format = { empty = false },
      old = view.lines,
      list = differences(view, entry),
      scheduled = false,
    },
    -- The keys of the user's buffer are put back one by one, see `review.keys`.
    without_keys = true,
  }
  require("claude-ide.diffview.pair").compare(view.pair)
  unfold(view, entry)
  note(view, entry)
end

---The texts, or what the journal knows of them, have changed.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
function M.refresh(view, entry)
  local pair = view.pair
  if not pair then
    return
  end
  local list = differences(view, entry)
  if pair.hunks.old ~= view.lines or not vim.deep_equal(pair.hunks.list, list) then
    pair.hunks.old, pair.hunks.list = view.lines, list
    require("claude-ide.diffview.pair").refresh(pair)
  end
  unfold(view, entry)
  note(view, entry)
end

---@param view claude-ide.review.View
function M.go_to_first(view)
  require("claude-ide.diffview.pair").go_to_first_change(view.pair --[[@as claude-ide.diffview.Pair]])
end

---@param view claude-ide.review.View
function M.align(view)
  require("claude-ide.diffview.pair").align(view.pair --[[@as claude-ide.diffview.Pair]])
end

---Brings what a change removes into sight, where it is drawn above the cursor.
---@param view claude-ide.review.View
function M.reveal(view)
  local pair, win = view.pair, view.wins.file
  if not pair or pair.wins.now or vim.api.nvim_get_current_win() ~= win then
    return
  end
  local lnum, last = vim.api.nvim_win_get_cursor(win)[1], vim.api.nvim_buf_line_count(view.bufs.file)
  for _, hunk in ipairs(pair.hunks.list) do
    if math.min(math.max(hunk.new, 1), last) == lnum then
      return require("claude-ide.diffview.unified").go_to(pair, hunk, win)
    end
  end
end

---Where a line of the side before is in the file.
---@param view claude-ide.review.View
---@param lnum integer
---@return integer
function M.beside(view, lnum)
  local last = vim.api.nvim_buf_line_count(view.bufs.file)
  return math.min(require("claude-ide.diffview.hunks").map(view.pair.hunks, lnum), last)
end

---Takes everything out of the windows and buffers that was put there.
---@param view claude-ide.review.View
function M.stop(view)
  if view.pair then
    require("claude-ide.diffview.pair").end_comparing(view.pair)
    view.pair = nil
  end
  if vim.api.nvim_buf_is_valid(view.bufs.file) then
    vim.api.nvim_buf_clear_namespace(view.bufs.file, namespace, 0, -1)
  end
end

return M
