-- Three-way merge of lines. The library does the work (crates/edits/src/three_way.rs).
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")

local M = {}

local function text_of(lines)
  return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

---Merges two changes of a text. Separate changes are both kept, also adjacent ones.
---@param base string[] common ancestor
---@param mine string[]
---@param theirs string[]
---@return string[] merged `theirs` where both changed the same lines
---@return integer overlaps places where both changed the same lines differently, or inserted lines in an unknown order
function M.three_way(base, mine, theirs)
  local found, err = native.merge(text_of(base), text_of(mine), text_of(theirs))
  if not found then
    log.error("two changes are not merged: %s", err)
    return theirs, 1
  end
  local lines = bytes.split(found.text, "\n")
  lines[#lines] = nil
  return lines, found.overlaps
end

return M
