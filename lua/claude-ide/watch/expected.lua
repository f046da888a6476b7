-- Changes that are still to be seen on disk and that the user has agreed to: nothing to warn of.
local M = {}

---@type table<string, true> by absolute path
local expected = {}

---@param path string absolute
function M.add(path)
  expected[path] = true
end

---@param path string absolute
function M.remove(path)
  expected[path] = nil
end

---Whether a change of a file, by whatever name, is expected.
---@param path string absolute
---@return boolean
function M.includes(path)
  if next(expected) == nil then
    return false
  end
  local paths = require("claude-ide.path")
  local real = paths.real(path)
  for other in pairs(expected) do
    if other == path or paths.real(other) == real then
      return true
    end
  end
  return false
end

return M
