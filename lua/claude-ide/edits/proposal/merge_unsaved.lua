-- Proposals for a file with unsaved changes. Claude's proposal is based on the disk, the user's text is in the buffer: the diff shows the
-- proposal merged with the unsaved changes, and the accepted text is written without them.
-- Invariant: unsaved changes are neither written nor lost, except in lines that Claude changed too, as the diff shows.
local lazy = require("claude-ide.lazy")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local conflict = lazy("claude-ide.edits.watch.conflict")
local merge = lazy("claude-ide.editor.merge")
local patch = lazy("claude-ide.editor.buffer.patch")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

---The two versions of a proposal for a file with unsaved changes.
---@class claude-ide.proposal.Unsaved
---@field proposed string[] as Claude proposed it
---@field shown string[] merged with the unsaved changes

---Merges the unsaved changes into a proposal.
---@param now claude-ide.proposal.Now
---@param lines string[] as proposed
---@param format claude-ide.bytes.Format
---@return string[] lines to show
---@return claude-ide.proposal.Unsaved? unsaved nil: none
function M.merge(now, lines, format)
  local utf8 = now.buf and buffer_format.is_utf8(vim.bo[now.buf].fileencoding)
  if now.against ~= "buffer" or not now.disk.bytes or not utf8 or format.empty or now.format.empty then
    return lines, nil
  end
  local disk, disk_format = bytes.decode(now.disk.bytes)
  local merged = merge.three_way(disk_format.empty and {} or disk, now.lines, lines)
  if #merged == 0 then
    return lines, nil
  end
  return merged, { proposed = lines, shown = merged }
end

---Removes the unsaved changes: the text for the CLI to write.
---@param unsaved claude-ide.proposal.Unsaved
---@param accepted string[] shown text, as edited by the user
---@return string[] lines including unsaved lines that the user edited in the diff
function M.split(unsaved, accepted)
  local lines, overlaps = merge.three_way(unsaved.shown, accepted, unsaved.proposed)
  return overlaps == 0 and #lines > 0 and lines or accepted
end

---How to update a buffer once an accepted proposal is on disk.
---@class claude-ide.proposal.Afterwards
---@field before string[] buffer when the diff opened
---@field accepted string[] the diff's final text
---@field written string[] written by the CLI

---The same for a buffer whose unsaved changes are newer than the diff.
---@param buf integer loaded
---@param before? string file when the diff opened
---@param written string written by the CLI
---@return claude-ide.proposal.Afterwards? after nil: cannot be merged
function M.typed_meanwhile(buf, before, written)
  if not before or not buffer_format.is_utf8(vim.bo[buf].fileencoding) then
    return nil
  end
  local decode = bytes.decode
  local old, old_format = decode(before)
  local new, new_format = decode(written)
  if old_format.empty or new_format.empty then
    return nil
  end
  return { before = old, accepted = new, written = new }
end

---Applies an accepted text to the buffer, keeping unsaved changes unsaved.
---@param buf integer loaded
---@param after claude-ide.proposal.Afterwards
---@param disk string[] current text on disk
---@return boolean done false: the user has meanwhile changed the same lines
function M.settle(buf, after, disk)
  local three_way = merge.three_way
  -- A hook may have changed what was written.
  local wanted, overlaps = three_way(after.written, after.accepted, disk)
  local lines, clashes = three_way(after.before, vim.api.nvim_buf_get_lines(buf, 0, -1, true), wanted)
  if overlaps > 0 or clashes > 0 or #lines == 0 then
    return false
  end
  local format = buffer_format.of(buf)
  format.empty = false
  patch.set_text(buf, lines, format)
  stamp.agree(buf)
  if not vim.deep_equal(lines, disk) then
    vim.bo[buf].modified = true
    conflict.rebase(buf)
  end
  return true
end

return M
