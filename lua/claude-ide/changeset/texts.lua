-- The two texts of one file of a changeset as buffers, made when the file is first looked at, and what of them is to be written.
-- Hand edits of the proposal count: what it holds is what is accepted.
local M = {}

---One file of a changeset that waits.
---@class claude-ide.changeset.Entry
---@field file claude-ide.changeset.File
---@field dropped boolean all of it
---@field bufs? table<claude-ide.diffview.Side, integer> once it was looked at
---@field hunks? claude-ide.diffview.Hunks
---@field typed? claude-ide.diff.Text what the user typed into a proposal whose buffer is gone
---@field tick? integer of the proposal, as it was made
---@field counts { added: integer, removed: integer, total: integer } as proposed; total: hunks

local NOTHING = { lines = { "" }, format = { bom = false, eol = "\n", final = false, empty = true } }

---@param text? claude-ide.changeset.Text
---@return string[] lines none where there is no text
function M.lines_of(text)
  return (not text or text.format.empty) and {} or text.lines
end

---@param file claude-ide.changeset.File
---@return claude-ide.changeset.Entry
function M.entry(file)
  return { file = file, dropped = false, counts = file.counts or { added = 0, removed = 0, total = 0 } }
end

---A file of a changeset as the buffers of a diff are named and marked after.
---@param changeset claude-ide.Changeset
---@param file claude-ide.changeset.File
---@return claude-ide.Diff
function M.called(changeset, file)
  local called = { id = changeset.id, path = file.path, old_path = file.from or file.path }
  return called --[[@as claude-ide.Diff]]
end

---Makes the buffers of a file.
---@param changeset claude-ide.Changeset
---@param entry claude-ide.changeset.Entry
---@param changed fun() after each edit of the proposal
---@param done fun() at once, or later where the texts are large
function M.prepare(changeset, entry, changed, done)
  if entry.bufs then
    return done()
  end
  local buffers, file = require("claude-ide.diff.buffers"), entry.file
  local before, after = file.before or NOTHING, file.after or NOTHING
  local source = file.source and file.source.buf
  source = source and vim.api.nvim_buf_is_valid(source) and source or nil
  local called = M.called(changeset, file)
  local function guarded(fn)
    return require("claude-ide.safely").wrap("show a file of a changeset", fn)
  end
  entry.bufs = {
    now = buffers.make(called, "now", before.format, source),
    proposal = buffers.make(called, "proposal", after.format, source),
  }
  local function compared(comparison)
    if not entry.bufs or not vim.api.nvim_buf_is_valid(entry.bufs.proposal) then
      return
    end
    entry.tick = vim.api.nvim_buf_get_changedtick(entry.bufs.proposal)
    entry.hunks = require("claude-ide.diffview.hunks").follow({
      now = { lines = before.lines, format = before.format, against = "disk", disk = {} },
      lines = after.lines,
      format = after.format,
      bufs = entry.bufs,
      comparison = comparison,
    }, changed)
    done()
  end
  buffers.fill(entry.bufs.now, before.lines, function()
    buffers.fill(entry.bufs.proposal, after.lines, function()
      buffers.finish(called, entry.bufs, source)
      -- Until somebody types into it nothing of it can be lost.
      vim.bo[entry.bufs.proposal].modified = false
      vim.bo[entry.bufs.proposal].modifiable = file.after ~= nil
      for _, buf in pairs(entry.bufs) do
        require("claude-ide.ui.own_buffer").highlight(buf, source)
      end
      if file.comparison then
        return compared(file.comparison)
      end
      local size = require("claude-ide.buffer.bytes").size
      require("claude-ide.diffview.comparison").run(
        M.lines_of(file.before),
        M.lines_of(file.after),
        size(before.lines) + size(after.lines),
        compared,
        guarded
      )
    end, guarded)
  end, guarded)
end

---Whether the user has changed the proposal, be it that they have dropped a change.
---@param entry claude-ide.changeset.Entry
---@return boolean
function M.is_touched(entry)
  local buf = entry.bufs and entry.bufs.proposal
  return buf ~= nil
    and vim.api.nvim_buf_is_loaded(buf)
    and vim.api.nvim_buf_get_changedtick(buf) ~= entry.tick
end

---The text that is to be written.
---@param entry claude-ide.changeset.Entry
---@return claude-ide.changeset.Text? nil: there is to be no file
function M.wanted(entry)
  if not entry.file.after or not entry.hunks or not M.is_touched(entry) then
    return entry.file.after
  end
  local buf = entry.bufs.proposal
  local format = require("claude-ide.diffview.hunks").format(entry.hunks)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local empty = require("claude-ide.buffer.bytes").is_empty(buf, format)
  return {
    lines = lines,
    format = { bom = format.bom, eol = format.eol, final = format.final or format.empty, empty = empty },
  }
end

---What is left of a file's changes now.
---@class claude-ide.changeset.Left
---@field kept integer proposed hunks
---@field total integer
---@field added integer lines
---@field removed integer
---@field dropped claude-ide.buffer.Hunk[]
---@field nothing boolean nothing of it is to be done

---@param entry claude-ide.changeset.Entry
---@return claude-ide.changeset.Left
function M.left(entry)
  local counts, live, hunks = entry.counts, require("claude-ide.diffview.hunks"), entry.hunks
  local left = {
    kept = counts.total,
    total = counts.total,
    added = counts.added,
    removed = counts.removed,
    dropped = {},
    nothing = entry.dropped,
  }
  if hunks and M.is_touched(entry) then
    left.total, left.dropped = #hunks.original, live.dropped(hunks)
    left.kept = left.total - #left.dropped
    left.added, left.removed = live.count(hunks)
    local is_as_before = left.total > 0 and #hunks.list == 0
    left.nothing = entry.dropped
      or is_as_before and (entry.file.kind == "modified" or entry.file.kind == "created")
  end
  if entry.dropped then
    left.kept = 0
  end
  return left
end

---Takes the buffers of a file away.
---@param entry claude-ide.changeset.Entry
function M.release(entry)
  for _, buf in pairs(entry.bufs or {}) do
    require("claude-ide.ui.own_buffer").delete(buf)
  end
  entry.bufs, entry.hunks = nil, nil
end

return M
