-- The time as the library gives it: Unix milliseconds.

local M = {}

---@return integer
function M.now()
  local seconds, microseconds = vim.uv.gettimeofday()
  return math.floor(seconds * 1000 + microseconds / 1000)
end

return M
