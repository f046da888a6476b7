-- Running checks for changes, and callbacks for their end: a turn's changes are then complete.
local M = {}

---@type table<table, (fun())[]> with the callbacks for its end
local open = {}

---Starts a check.
---@return fun() finish to call once
function M.begin()
  local look = {}
  open[look] = {}
  return function()
    local waiting = open[look] or {}
    open[look] = nil
    for _, done in ipairs(waiting) do
      done()
    end
  end
end

---@return boolean
function M.is_open()
  return next(open) ~= nil
end

---Longer than git's timeout.
M.PATIENCE_MS = 20000

---Calls back when all running checks are over: at once if there are none, and after a timeout in any case.
---@param done fun()
function M.await(done)
  local left = vim.tbl_count(open)
  if left == 0 then
    return done()
  end
  local is_over = false
  local function finish()
    if not is_over then
      is_over = true
      done()
    end
  end
  vim.defer_fn(finish, M.PATIENCE_MS)
  for _, waiting in pairs(open) do
    waiting[#waiting + 1] = function()
      left = left - 1
      if left == 0 then
        finish()
      end
    end
  end
end

return M
