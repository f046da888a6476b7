-- Whether a process runs.
local M = {}

---@param pid integer
---@return boolean
function M.runs(pid)
  local _, _, code = vim.uv.kill(pid, 0)
  return code ~= "ESRCH" -- of somebody else's the system says EPERM
end

return M
