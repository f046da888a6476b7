-- Temporary values of global options.
local M = {}

---@generic T
---@param name string
---@param value any
---@param fn fun(): T?
---@return T?
function M.during(name, value, fn)
  local before = vim.o[name]
  vim.o[name] = value
  local ok, result = pcall(fn)
  vim.o[name] = before
  if not ok then
    error(result, 0)
  end
  return result
end

---Runs a function with additional events ignored.
---@generic T
---@param events string value of 'eventignore'
---@param fn fun(): T?
---@return T?
function M.without_events(events, fn)
  local ignored = vim.o.eventignore
  return M.during("eventignore", ignored == "" and events or ignored .. "," .. events, fn)
end

return M
