-- The diffs that are on the screen or on their way to it, by the number of their request.
local M = {}

---@type table<integer, claude-ide.diff.Entry>
local entries = {}

---@param id integer
---@return claude-ide.diff.Entry?
function M.get(id)
  return entries[id]
end

---@return table<integer, claude-ide.diff.Entry> not a copy
function M.all()
  return entries
end

return M
