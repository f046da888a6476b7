-- Items compared and measured. Pure.

local M = {}

---@param one claude-ide.transcript.Item
---@param other claude-ide.transcript.Item
---@return boolean
function M.is_same(one, other)
  if one.key ~= other.key or #one.lines ~= #other.lines or #one.folds ~= #other.folds then
    return false
  end
  for at, line in ipairs(one.lines) do
    if line ~= other.lines[at] then
      return false
    end
  end
  return true
end

---@param items claude-ide.transcript.Item[]
---@return integer
function M.height(items)
  local height = 0
  for _, item in ipairs(items) do
    height = height + #item.lines
  end
  return height
end

---@param items claude-ide.transcript.Item[]
---@return integer
function M.shown(items)
  local hidden = 0
  for _, item in ipairs(items) do
    local fold = item.folds[#item.folds]
    hidden = hidden + (fold and fold.closed and fold.last - fold.first or 0)
  end
  return M.height(items) - hidden
end

return M
