-- The current time in Unix milliseconds, like the library's.

local M = {}

---@return integer
function M.now()
  local seconds, microseconds = assert(vim.uv.gettimeofday())
  return math.floor(seconds * 1000 + microseconds / 1000)
end

return M
