-- Another value of a global option, for as long as a function runs.
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

---Runs a function while nobody is told of some events, beside those that are ignored already.
---@generic T
---@param events string as in 'eventignore'
---@param fn fun(): T?
---@return T?
function M.without_events(events, fn)
  local ignored = vim.o.eventignore
  return M.during("eventignore", ignored == "" and events or ignored .. "," .. events, fn)
end

return M
