-- Sizes as people read them. Pure.
local M = {}

---@param bytes integer
---@return string
function M.of(bytes)
  if bytes < 1000 then
    return ("%d B"):format(bytes)
  elseif bytes < 1000 * 1000 then
    return ("%.1f kB"):format(bytes / 1000)
  end
  return ("%.1f MB"):format(bytes / 1000 / 1000)
end

return M
