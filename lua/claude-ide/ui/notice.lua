-- What is said to the person: through vim.notify, so that it looks as they configured it.
local M = {}

---@param message string
---@param level integer vim.log.levels
local function notify(message, level)
  if vim.in_fast_event() then
    vim.schedule(function()
      notify(message, level)
    end)
    return
  end
  vim.notify(message, level, { title = "Claude" })
end

---@param message string
function M.info(message)
  notify(message, vim.log.levels.INFO)
end

---@param message string
function M.warn(message)
  notify(message, vim.log.levels.WARN)
end

---@param message string
function M.error(message)
  notify(message, vim.log.levels.ERROR)
end

return M
