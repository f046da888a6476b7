-- Two changes of one text, made without knowledge of each other, as one text. The library merges (crates/edits/src/three_way.rs).
local M = {}

local function text_of(lines)
  return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

---Merges two changes of a text. What does not meet is kept whole, also what one put beside a change of the other.
---@param base string[] the text that both come from
---@param mine string[]
---@param theirs string[]
---@return string[] merged where both changed the same lines: theirs
---@return integer overlaps places where both changed the same lines to something else, or put lines beside each other whose order is
---  not known
function M.three_way(base, mine, theirs)
  local found, err = require("claude-ide.native").merge(text_of(base), text_of(mine), text_of(theirs))
  if not found then
    require("claude-ide.log").error("two changes are not merged: %s", err)
    return theirs, 1
  end
  local lines = require("claude-ide.buffer.bytes").split(found.text, "\n")
  lines[#lines] = nil
  return lines, found.overlaps
end

return M
