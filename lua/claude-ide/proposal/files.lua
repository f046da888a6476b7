-- The files of a proposal of several: their buffers, created on demand, the list, and what is to be written. The accepted text is the
-- buffer's, including the user's edits.
local M = {}

---One of several files.
---@class claude-ide.proposal.File: claude-ide.proposal.Item.Shown
---@field path string
---@field old_path string
---@field file claude-ide.changeset.File
---@field dropped boolean as a whole

local NOTHING = { lines = { "" }, format = { bom = false, eol = "\n", final = false, empty = true } }

---@param file claude-ide.changeset.File
---@return claude-ide.proposal.File
function M.of(file)
  local item = {
    file = file,
    path = file.path,
    old_path = file.from or file.path,
    dropped = false,
  }
  return item --[[@as claude-ide.proposal.File]]
end

---The displayed file.
---@param entry claude-ide.proposal.Entry
---@return claude-ide.proposal.File? file nil: a single-file proposal
function M.shown(entry)
  return vim.iter(entry.diff.files or {}):find(function(item)
    return item.text == entry.text
  end)
end

---Creates the buffers of a file.
---@param diff claude-ide.Diff
---@param item claude-ide.proposal.File
---@param changed fun() called after each edit of the proposal
---@param done fun() possibly before this returns
---@param guarded fun(fn: function): function
function M.prepare(diff, item, changed, done, guarded)
  if item.text then
    return done()
  end
  item.diff = diff
  local named = { id = diff.id, path = item.path, old_path = item.old_path } --[[@as claude-ide.Diff]]
  local buffers, file = require("claude-ide.proposal.buffers"), item.file
  local before, after = file.before or NOTHING, file.after or NOTHING
  local source = file.source and file.source.buf
  source = source and vim.api.nvim_buf_is_valid(source) and source or nil
  local is_unsaved = file.source ~= nil and file.source.unsaved
  ---@type claude-ide.proposal.Prepared
  local text = {
    now = {
      lines = before.lines,
      format = before.format,
      against = not file.before and "nothing" or is_unsaved and "buffer" or "disk",
      disk = {},
      buf = source,
    },
    lines = after.lines,
    format = after.format,
    bufs = {
      now = buffers.make(named, "now", before.format, source),
      proposal = buffers.make(named, "proposal", after.format, source),
    },
    comparison = file.comparison,
  }
  item.text = text
  buffers.fill(text.bufs.now, before.lines, function()
    buffers.fill(text.bufs.proposal, after.lines, function()
      buffers.finish(named, text.bufs, source)
      vim.bo[text.bufs.proposal].modifiable = file.after ~= nil
      item.tick = vim.api.nvim_buf_get_changedtick(text.bufs.proposal)
      item.hunks = require("claude-ide.diffview.hunks").follow(text, changed)
      done()
    end, guarded)
  end, guarded)
end

---Whether only one text of a file can be shown.
---@param item claude-ide.proposal.File prepared
---@return boolean
function M.needs_one_window(item)
  local hunks, size = item.hunks, require("claude-ide.buffer.bytes").size
  local bytes = size(hunks.old) + size(hunks.proposed)
  return item.file.after == nil
    or hunks.format.empty
    or require("claude-ide.diffview.pair").needs_one_window(hunks.list, #hunks.old, #hunks.proposed, bytes)
end

---Whether the user has edited the proposal or dropped a change.
---@param item claude-ide.proposal.File
---@return boolean
local function is_touched(item)
  local buf = item.text and item.text.bufs.proposal
  return buf ~= nil
    and item.hunks ~= nil
    and vim.api.nvim_buf_is_loaded(buf)
    and vim.api.nvim_buf_get_changedtick(buf) ~= item.tick
end

---The text to write.
---@param item claude-ide.proposal.File
---@return claude-ide.changeset.Text? text nil: no file
function M.wanted(item)
  if not item.file.after or not is_touched(item) then
    return item.file.after
  end
  local buf = item.text.bufs.proposal
  local format = require("claude-ide.diffview.hunks").format(item.hunks --[[@as claude-ide.diffview.Hunks]])
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local empty = require("claude-ide.buffer.bytes").is_empty(buf, format)
  return {
    lines = lines,
    format = { bom = format.bom, eol = format.eol, final = format.final or format.empty, empty = empty },
  }
end

---The remaining changes of a file.
---@class claude-ide.proposal.Left
---@field kept integer proposed hunks
---@field total integer
---@field added integer lines
---@field removed integer
---@field dropped claude-ide.buffer.Hunk[]
---@field nothing boolean no change is left

---@param item claude-ide.proposal.File
---@return claude-ide.proposal.Left
function M.left(item)
  local comparison, live, hunks = item.file.comparison, require("claude-ide.diffview.hunks"), item.hunks
  local left = {
    kept = #comparison.hunks,
    total = #comparison.hunks,
    added = comparison.added,
    removed = comparison.removed,
    dropped = {},
    nothing = item.dropped,
  }
  if hunks and is_touched(item) then
    left.total, left.dropped = #hunks.original, live.dropped(hunks)
    left.kept = left.total - #left.dropped
    left.added, left.removed = live.count(hunks)
    local is_as_before = left.total > 0 and #hunks.list == 0
    left.nothing = item.dropped
      or is_as_before and (item.file.kind == "modified" or item.file.kind == "created")
  end
  if item.dropped then
    left.kept = 0
  end
  return left
end

---Limits of a quoted line, and of quotes per file.
local MAX_QUOTE, MAX_QUOTED = 80, 3

---@param item claude-ide.proposal.File
---@param left claude-ide.proposal.Left
---@return { line: integer, text: string }[]
local function quotes(item, left)
  local found = {}
  for _, hunk in ipairs(left.dropped) do
    if #found < MAX_QUOTED then
      local proposed = item.hunks and item.hunks.proposed[hunk.new] or nil
      local old = item.hunks and item.hunks.old[hunk.old] or nil
      local position = require("claude-ide.position")
      local text = position.valid(vim.trim(hunk.new_count > 0 and proposed or old or ""))
      found[#found + 1] = { line = math.max(hunk.old, 1), text = position.truncate(text, MAX_QUOTE) }
    end
  end
  return found
end

---Whether some change is the user's own: neither proposed nor the previous text.
---@param item claude-ide.proposal.File
---@return boolean
local function is_edited(item)
  local hunks = item.hunks
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
---@param item claude-ide.proposal.File
---@return claude-ide.changeset.Outcome
function M.outcome(item)
  local file, left = item.file, M.left(item)
  return {
    path = file.path,
    from = file.from,
    kind = file.kind,
    kept = left.nothing and 0 or left.kept,
    total = left.total,
    dropped = left.nothing,
    edited = not left.nothing and is_touched(item) and is_edited(item),
    unsaved = not left.nothing and file.source ~= nil and file.source.unsaved,
    quotes = quotes(item, left),
  }
end

---The file's row in the list.
---@param item claude-ide.proposal.File
---@return claude-ide.diffview.Listed
local function listed(item)
  local file, left = item.file, M.left(item)
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

local WORDS = { none = " ◌ nothing is kept", done = "dropped" }

---@param diff claude-ide.Diff
---@return integer columns width of the list
function M.list_width(diff)
  return require("claude-ide.diffview.list").width(vim.tbl_map(listed, diff.files or {}))
end

---Redraws the list.
---@param entry claude-ide.proposal.Entry
function M.render_list(entry)
  local rows = vim.tbl_map(listed, entry.diff.files or {})
  require("claude-ide.diffview.list").render(entry.list --[[@as integer]], rows, entry.shown, WORDS)
  if entry.view and require("claude-ide.diffview.windows").is_shown(entry.view, "list") then
    require("claude-ide.diffview.windows").point_at(entry.view, entry.shown)
  end
end

return M
