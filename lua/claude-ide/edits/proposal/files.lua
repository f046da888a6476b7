-- The files of a proposal: what is left of their changes, what is to be written, and the list of several. The accepted text is the
-- buffer's, including the user's edits.
local lazy = require("claude-ide.lazy")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local ide_hunk = lazy("claude-ide.base.hunk")
local list = lazy("claude-ide.ui.diffview.list")
local pair = lazy("claude-ide.ui.diffview.pair")
local position = lazy("claude-ide.base.position")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

---@param file claude-ide.proposal.File with its text, or planned
---@return claude-ide.diffview.Comparison
function M.comparison(file)
  local has_it = file.planned or file.text
  ---@cast has_it -nil
  return has_it.comparison
end

---Whether acceptance deletes the file.
---@param file claude-ide.proposal.File
---@return boolean
function M.is_deletion(file)
  return file.kind == "deleted"
end

---Whether only one text of a file can be shown.
---@param file claude-ide.proposal.PreparedFile
---@return boolean
function M.needs_one_window(file)
  local hunks, size = file.hunks, buffer_bytes.size
  local bytes = size(hunks.old) + size(hunks.proposed)
  return M.is_deletion(file)
    or hunks.format.empty
    or pair.needs_one_window(hunks.list, #hunks.old, #hunks.proposed, bytes)
end

---Whether the user has edited the proposal or dropped a change.
---@param file claude-ide.proposal.File
---@return boolean
function M.is_touched(file)
  local buf = file.text and file.text.bufs.right
  return buf ~= nil and vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) ~= file.tick
end

---The text to write.
---@param file claude-ide.proposal.File planned
---@return claude-ide.changeset.Text? text nil: no file
function M.wanted(file)
  local planned, text = file.planned, file.text
  ---@cast planned -nil
  if not text or not planned.after or not M.is_touched(file) then
    return planned.after
  end
  local buf = text.bufs.right
  local format = diffview_hunks.format(file.hunks --[[@as claude-ide.diffview.Hunks]])
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local empty = buffer_bytes.is_empty(buf, format)
  return {
    lines = lines,
    format = { bom = format.bom, eol = format.eol, final = format.final or format.empty, empty = empty },
  }
end

---The remaining changes of a file.
---@class claude-ide.proposal.Remaining
---@field kept integer proposed hunks
---@field total integer
---@field added integer lines
---@field removed integer
---@field dropped claude-ide.buffer.Hunk[]
---@field nothing boolean no change is left

---@param file claude-ide.proposal.File with its text, or planned
---@return claude-ide.proposal.Remaining
function M.remaining(file)
  local comparison, hunks = M.comparison(file), file.hunks
  local left = {
    kept = #comparison.hunks,
    total = #comparison.hunks,
    added = comparison.added,
    removed = comparison.removed,
    dropped = {},
    nothing = file.dropped,
  }
  if hunks and M.is_touched(file) then
    left.dropped = diffview_hunks.dropped(hunks)
    left.kept = left.total - #left.dropped
    left.added, left.removed = ide_hunk.count(hunks.list)
    local is_as_before = left.total > 0 and #hunks.list == 0
    left.nothing = file.dropped or is_as_before and (file.kind == "modified" or file.kind == "created")
  end
  if file.dropped then
    left.kept = 0
  end
  return left
end

---Limits of a quoted line, and of quotes per file.
local MAX_QUOTE, MAX_QUOTED = 80, 3

---@param file claude-ide.proposal.File
---@param left claude-ide.proposal.Remaining
---@return { line: integer, text: string }[]
local function quotes(file, left)
  local found = {}
  for _, hunk in ipairs(left.dropped) do
    if #found < MAX_QUOTED then
      local proposed = file.hunks and file.hunks.proposed[hunk.new] or nil
      local old = file.hunks and file.hunks.old[hunk.old] or nil
      local text = position.valid(vim.trim(hunk.new_count > 0 and proposed or old or ""))
      found[#found + 1] = { line = math.max(hunk.old, 1), text = position.truncate(text, MAX_QUOTE) }
    end
  end
  return found
end

---Whether some change is the user's own: neither proposed nor the previous text.
---@param file claude-ide.proposal.File
---@return boolean
local function is_edited(file)
  local hunks = file.hunks --[[@as claude-ide.diffview.Hunks]]
  ---@param hunk claude-ide.buffer.Hunk
  ---@return boolean
  local function is_proposed(hunk)
    local first, last = hunk.new - 1, hunk.new - 1 + hunk.new_count
    local now = vim.api.nvim_buf_get_lines(hunks.buf, first, last, false)
    return vim.iter(hunks.original):any(function(original)
      if original.old ~= hunk.old or original.old_count ~= hunk.old_count then
        return false
      end
      local last_line = original.new + original.new_count - 1
      ---@cast last_line integer
      return vim.deep_equal(now, vim.list_slice(hunks.proposed, original.new, last_line))
    end)
  end
  return not vim.iter(hunks.list):all(is_proposed)
end

---The current result for a file.
---@param file claude-ide.proposal.File
---@return claude-ide.changeset.Outcome
function M.outcome(file)
  local source, left = file.planned and file.planned.source, M.remaining(file)
  return {
    path = file.path,
    from = file.from,
    kind = file.kind --[[@as "modified"|"created"|"deleted"|"renamed"]],
    kept = left.nothing and 0 or left.kept,
    total = left.total,
    dropped = left.nothing,
    edited = not left.nothing and M.is_touched(file) and is_edited(file),
    unsaved = not left.nothing and source ~= nil and source.unsaved,
    quotes = quotes(file, left),
  }
end

---The file's row in the list.
---@param file claude-ide.proposal.File
---@return claude-ide.diffview.Listed
local function listed(file)
  local left = M.remaining(file)
  local is_moved, is_changed = file.kind == "renamed", left.added + left.removed > 0
  local kind = file.kind --[[@as "created"|"modified"|"deleted"]]
  if is_moved then
    kind = is_changed and "modified" or "created"
  end
  return {
    path = file.path,
    waits = not left.nothing,
    outcome = left.nothing and "dropped" or nil,
    change = {
      kind = kind,
      added = left.added,
      removed = left.removed,
      conflicts = 0,
      moved_from = is_moved and not is_changed and file.from or nil,
    },
  }
end

local WORDS = { none = " ◌ nothing is selected", done = "dropped" }

---@param diff claude-ide.Diff
---@return integer columns width of the list
function M.list_width(diff)
  return list.width(vim.tbl_map(listed, diff.files))
end

---Redraws the list.
---@param entry claude-ide.proposal.Entry
function M.render_list(entry)
  local rows = vim.tbl_map(listed, entry.diff.files)
  list.render(entry.list --[[@as integer]], rows, entry.shown, WORDS)
  if entry.view and windows.is_shown(entry.view, "list") then
    windows.point_at(entry.view, entry.shown)
  end
end

return M
