-- A proposal for a file with unsaved text. Claude knows the file as it is on disk, the user as it is in the buffer: what
-- is proposed is shown with the unsaved text in it, and accepted without.
-- Invariant: unsaved text is neither written for the user nor taken from them, except for lines that Claude changed too:
-- there the diff shows what becomes of them.
local M = {}

---What `prepare` keeps of a proposal that has unsaved text in it.
---@class claude-ide.proposal.Unsaved
---@field proposed string[] as Claude proposed it
---@field shown string[] with the unsaved text

---@param text string[]
---@param format { empty: boolean }
---@return string[] none for a text of no bytes, whose buffer has a line all the same
local function lines_of(text, format)
  return format.empty and {} or text
end

---Puts the unsaved text into a proposal.
---@param now claude-ide.proposal.Now
---@param lines string[] as proposed
---@param format claude-ide.bytes.Format
---@return string[] lines to show
---@return claude-ide.proposal.Unsaved? unsaved nil: there is none
function M.put_in(now, lines, format)
  local utf8 = now.buf and require("claude-ide.buffer.format").is_utf8(vim.bo[now.buf].fileencoding)
  if now.against ~= "buffer" or not now.disk.bytes or not utf8 or format.empty or now.format.empty then
    return lines, nil
  end
  local disk, disk_format = require("claude-ide.buffer.bytes").decode(now.disk.bytes)
  local merged = require("claude-ide.merge").three_way(lines_of(disk, disk_format), now.lines, lines)
  if #merged == 0 then
    return lines, nil
  end
  return merged, { proposed = lines, shown = merged }
end

---Takes the unsaved text out again: what the CLI is to write.
---@param unsaved claude-ide.proposal.Unsaved
---@param accepted string[] what was shown, as the user has changed it
---@return string[] lines where the user has changed their unsaved lines in the diff: with those
function M.take_out(unsaved, accepted)
  local lines, overlaps = require("claude-ide.merge").three_way(unsaved.shown, accepted, unsaved.proposed)
  return overlaps == 0 and #lines > 0 and lines or accepted
end

---What a buffer is to hold once an accepted proposal is on disk.
---@class claude-ide.proposal.Afterwards
---@field before string[] what the buffer held when the diff came
---@field accepted string[] what the diff showed at its end
---@field written string[] what the CLI was told to write

---The same for a buffer that had no unsaved text when the diff came, and has now.
---@param buf integer loaded
---@param before? string what the file held then
---@param written string what the CLI was told to write
---@return claude-ide.proposal.Afterwards? nil: the texts cannot be laid over each other
function M.typed_meanwhile(buf, before, written)
  if not before or not require("claude-ide.buffer.format").is_utf8(vim.bo[buf].fileencoding) then
    return nil
  end
  local decode = require("claude-ide.buffer.bytes").decode
  local old, old_format = decode(before)
  local new, new_format = decode(written)
  if old_format.empty or new_format.empty then
    return nil
  end
  return { before = old, accepted = new, written = new }
end

---Gives the buffer what was accepted, and leaves unsaved what was.
---@param buf integer loaded
---@param after claude-ide.proposal.Afterwards
---@param disk string[] what is on disk now
---@return boolean done false: the user has changed lines of the buffer meanwhile that the proposal changes too
function M.settle(buf, after, disk)
  local three_way = require("claude-ide.merge").three_way
  -- A hook may have made something else of what was written.
  local wanted, overlaps = three_way(after.written, after.accepted, disk)
  local lines, clashes = three_way(after.before, vim.api.nvim_buf_get_lines(buf, 0, -1, true), wanted)
  if overlaps > 0 or clashes > 0 or #lines == 0 then
    return false
  end
  local format = require("claude-ide.buffer.format").of(buf)
  format.empty = false
  require("claude-ide.buffer.patch").set_text(buf, lines, format)
  require("claude-ide.buffer.stamp").agree(buf)
  if not vim.deep_equal(lines, disk) then
    vim.bo[buf].modified = true
    require("claude-ide.watch.conflict").rebase(buf)
  end
  return true
end

return M
