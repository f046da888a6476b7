-- The changes of a proposal against the current text, updated incrementally: each edit only compares the lines that it touched, so the
-- cost does not depend on the file's size.
-- Invariant: the current text with `list` applied is the proposal's text.
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local ide_hunk = lazy("claude-ide.base.hunk")
local patch = lazy("claude-ide.editor.buffer.patch")

local M = {}

---More lines between the first and the last change are one hunk.
local MAX_COMPARED_LINES = 400000

---Differences between two texts, kept up to date by their owner.
---@class claude-ide.diffview.Differences
---@field buf integer of the new text
---@field format { empty: boolean } of the new text
---@field old string[] the old text
---@field list claude-ide.buffer.Hunk[] current, top to bottom
---@field scheduled boolean an update is scheduled

---@class claude-ide.diffview.Hunks: claude-ide.diffview.Differences
---@field format claude-ide.bytes.Format of the proposal
---@field old string[] current text; no lines if it is empty
---@field old_format claude-ide.bytes.Format
---@field proposed string[] original lines; none if empty
---@field original claude-ide.buffer.Hunk[] original hunks
---@field changed fun() called after edits, when windows and marks may be changed

---@alias claude-ide.diffview.Algorithm "myers"|"minimal"|"patience"|"histogram"

---@type table<string, claude-ide.diffview.Algorithm>
local ALGORITHMS = { myers = "myers", minimal = "minimal", patience = "patience", histogram = "histogram" }

---The relevant flags of 'diffopt', so that the keys use the same hunks as diff mode. Differences that 'diffopt' ignores (`iwhite` etc.)
---remain changes: they will be written.
---@return { algorithm: claude-ide.diffview.Algorithm, indent_heuristic: boolean }
function M.diffopt()
  return {
    algorithm = ALGORITHMS[vim.o.diffopt:match("algorithm:(%a+)") or "myers"] or "myers",
    indent_heuristic = vim.o.diffopt:find("indent-heuristic", 1, true) ~= nil,
  }
end

---@param hunks claude-ide.diffview.Differences
---@return boolean whether the text is empty, though its buffer has one line
local function is_empty(hunks)
  return bytes.is_empty(hunks.buf, hunks.format)
end

---@param hunks claude-ide.diffview.Hunks
---@return integer
local function line_count(hunks)
  return is_empty(hunks) and 0 or vim.api.nvim_buf_line_count(hunks.buf)
end

---@param old string[]
---@param new string[]
---@return claude-ide.buffer.Hunk[]
local function compare(old, new)
  return ide_hunk.compare(old, new, function(before, after, whole)
    if whole.old_count + whole.new_count > MAX_COMPARED_LINES then
      return nil
    end
    local options = { result_type = "indices", algorithm = M.diffopt().algorithm }
    return vim.tbl_map(ide_hunk.of_xdiff, ide_hunk.xdiff(before, after, options) --[[@as integer[][] ]])
  end)
end

---@param hunks claude-ide.diffview.Hunks
local function compare_all(hunks)
  local lines = is_empty(hunks) and {} or vim.api.nvim_buf_get_lines(hunks.buf, 0, -1, false)
  hunks.list = compare(hunks.old, lines)
end

---Compares the old lines that an edit touched with the new ones.
---@param hunks claude-ide.diffview.Hunks
---@param at claude-ide.buffer.Hunk
---@return claude-ide.buffer.Hunk[]
local function compare_part(hunks, at)
  local new = vim.api.nvim_buf_get_lines(hunks.buf, at.new - 1, at.new - 1 + at.new_count, false)
  for _, hunk in ipairs(hunks.original) do
    -- A restored original hunk is kept as it was, whatever a new comparison would find.
    if hunk.old == at.old and hunk.old_count == at.old_count and hunk.new_count == at.new_count then
      if vim.deep_equal(new, vim.list_slice(hunks.proposed, hunk.new, hunk.new + hunk.new_count - 1)) then
        return { at }
      end
    end
  end
  local old = vim.list_slice(hunks.old, at.old, at.old + at.old_count - 1)
  local found = compare(old, new)
  for _, hunk in ipairs(found) do
    hunk.old, hunk.new = hunk.old + at.old - 1, hunk.new + at.new - 1
  end
  return found
end

---Applies an edit: the lines [first, last) became [first, last_new).
---@param hunks claude-ide.diffview.Hunks
---@param first integer 1-based
---@param last integer
---@param last_new integer
local function follow(hunks, first, last, last_new)
  local before, after, moved = {}, {}, last_new - last
  local from, to, shift_before, shift_after = first, last, 0, 0
  for _, hunk in ipairs(hunks.list) do
    local shift = hunk.new + hunk.new_count - hunk.old - hunk.old_count
    if hunk.new + hunk.new_count < first then
      before[#before + 1] = hunk
      shift_before, shift_after = shift, shift
    elseif hunk.new > last then
      after[#after + 1] =
        { old = hunk.old, old_count = hunk.old_count, new = hunk.new + moved, new_count = hunk.new_count }
    else
      from, to, shift_after = math.min(from, hunk.new), math.max(to, hunk.new + hunk.new_count), shift
    end
  end
  local part = { old = from - shift_before, new = from }
  part.old_count, part.new_count = to - shift_after - part.old, to + moved - part.new
  local list = before
  vim.list_extend(list, compare_part(hunks, part))
  hunks.list = vim.list_extend(list, after)
end

---@param hunks claude-ide.diffview.Hunks
---@return boolean
local function adds_up(hunks)
  local added, removed = ide_hunk.count(hunks.list)
  return #hunks.old + added - removed == line_count(hunks)
end

---@param hunks claude-ide.diffview.Hunks
local function tell(hunks)
  if hunks.scheduled then
    return
  end
  hunks.scheduled = true
  vim.schedule(function()
    hunks.scheduled = false
    if vim.api.nvim_buf_is_loaded(hunks.buf) then
      if not adds_up(hunks) then
        compare_all(hunks)
      end
      hunks.changed()
    end
  end)
end

---@param hunks claude-ide.diffview.Hunks
local function attach(hunks)
  vim.api.nvim_buf_attach(hunks.buf, false, {
    on_lines = function(_, _, _, first, last, last_new)
      local was_small = vim.api.nvim_buf_line_count(hunks.buf) - (last_new - last) <= 1
      if was_small or vim.api.nvim_buf_line_count(hunks.buf) <= 1 then
        compare_all(hunks)
      else
        follow(hunks, first + 1, last + 1, last_new + 1)
      end
      tell(hunks)
    end,
    on_reload = function()
      vim.schedule(function()
        if vim.api.nvim_buf_is_loaded(hunks.buf) then
          compare_all(hunks)
          hunks.changed()
        end
      end)
    end,
  })
end

---@param text claude-ide.proposal.Prepared
---@param changed fun()
---@return claude-ide.diffview.Hunks
function M.follow(text, changed)
  local lines_of = bytes.lines_of
  local hunks = {
    buf = text.bufs.right,
    format = text.format,
    old = lines_of(text.now),
    old_format = text.now.format,
    proposed = lines_of(text),
    original = text.comparison.hunks,
    list = text.comparison.hunks,
    changed = changed,
    scheduled = false,
  }
  attach(hunks)
  return hunks
end

---Follows the buffer again after `:edit`, with the text as it was proposed.
---@param hunks claude-ide.diffview.Hunks
function M.follow_again(hunks)
  hunks.list = hunks.original
  attach(hunks)
  tell(hunks)
end

---@param a claude-ide.buffer.Hunk
---@param b claude-ide.buffer.Hunk
---@return boolean
local function touch(a, b)
  return a.old <= b.old + b.old_count and b.old <= a.old + a.old_count
end

---The proposed hunks that are completely gone.
---@param hunks claude-ide.diffview.Hunks
---@return claude-ide.buffer.Hunk[]
function M.dropped(hunks)
  local dropped, list, i = {}, hunks.list, 1
  for _, original in ipairs(hunks.original) do
    while list[i] and list[i].old + list[i].old_count < original.old do
      i = i + 1
    end
    if not (list[i] and touch(list[i], original)) then
      dropped[#dropped + 1] = original
    end
  end
  return dropped
end

---Whether nothing is left of the old text, so that no lines correspond.
---@param hunks claude-ide.diffview.Differences
---@return boolean
function M.is_emptied(hunks)
  local hunk = hunks.list[1]
  return hunk ~= nil and hunk.new_count == 0 and hunk.old_count == #hunks.old
end

---The current format. If the last change, or all changes, were dropped, the end of the text is the current text's, including its final
---newline.
---@param hunks claude-ide.diffview.Hunks
---@return claude-ide.bytes.Format
function M.format(hunks)
  local format, old = hunks.format, hunks.old_format
  local dropped = M.dropped(hunks)
  local last, last_dropped = hunks.original[#hunks.original], dropped[#dropped]
  if old.empty or not last_dropped then
    return format
  elseif format.empty then
    return old
  end
  local is_end = last.old + last.old_count > #hunks.old and last.new + last.new_count > #hunks.proposed
  if #hunks.list == 0 or is_end and last_dropped == last then
    return { bom = format.bom, eol = format.eol, final = old.final, empty = false }
  end
  return format
end

---Maps a line of the left side to the right one.
---@param hunks claude-ide.diffview.Differences
---@param lnum integer
---@return integer lnum
function M.map(hunks, lnum)
  return patch.map(hunks.list, lnum)
end

---Maps a line of the right side to the left one; an added line to the line that follows.
---@param hunks claude-ide.diffview.Differences
---@param lnum integer
---@return integer lnum
function M.map_back(hunks, lnum)
  local inverse = vim.tbl_map(function(hunk)
    return { old = hunk.new, old_count = hunk.new_count, new = hunk.old, new_count = hunk.old_count }
  end, hunks.list)
  return math.min(patch.map(inverse, lnum), math.max(#hunks.old, 1))
end

---The hunk at a line; one that only removes lines is at their position.
---@param hunks claude-ide.diffview.Differences
---@param side claude-ide.diffview.Side of the line
---@param lnum integer
---@return claude-ide.buffer.Hunk?
function M.at(hunks, side, lnum)
  local start, count = "new", "new_count"
  if side == "left" then
    start, count = "old", "old_count"
  end
  local beside
  for _, hunk in ipairs(hunks.list) do
    local first = hunk[start] --[[@as integer]]
    local last = first + hunk[count] - 1
    if first <= lnum and lnum <= last then
      return hunk
    elseif hunk[count] == 0 and (lnum == first or lnum == first - 1) then
      -- Prefer the line below, where the removed lines are shown.
      beside = beside or hunk
    end
  end
  return beside
end

---Position of a dropped hunk in the proposal: the first line that it would change or precede.
---@param hunks claude-ide.diffview.Hunks
---@param original claude-ide.buffer.Hunk
---@return integer lnum
function M.place(hunks, original)
  local lnum = original.old
  for _, hunk in ipairs(hunks.list) do
    if hunk.old > original.old then
      break
    end
    lnum = original.old + hunk.new + hunk.new_count - hunk.old - hunk.old_count
  end
  return lnum
end

---@param hunks claude-ide.diffview.Differences
---@param first integer 1-based
---@param count integer
---@param lines string[]
local function replace(hunks, first, count, lines)
  patch.break_undo(hunks.buf)
  if is_empty(hunks) then
    first, count = 1, 1
  end
  vim.api.nvim_buf_set_lines(hunks.buf, first - 1, first - 1 + count, false, lines)
  patch.break_undo(hunks.buf)
end

---Replaces a hunk by the current text.
---@param hunks claude-ide.diffview.Differences
---@param hunk claude-ide.buffer.Hunk one of `list`
function M.drop(hunks, hunk)
  local lines = vim.list_slice(hunks.old, hunk.old, hunk.old + hunk.old_count - 1)
  replace(hunks, hunk.new, hunk.new_count, lines)
end

---Restores a dropped hunk.
---@param hunks claude-ide.diffview.Hunks
---@param original claude-ide.buffer.Hunk as returned by `dropped`
function M.take(hunks, original)
  local lines = vim.list_slice(hunks.proposed, original.new, original.new + original.new_count - 1)
  replace(hunks, M.place(hunks, original), original.old_count, lines)
end

return M
