-- Looks for changes that are under way, and who waits for them: what a turn changed is known when they are over.
local M = {}

---@alias claude-ide.journal.Look table

---@type table<claude-ide.journal.Look, (fun())[]> with what is to be called at its end
local open = {}

---A look begins.
---@return fun() finish to be called once
function M.begin()
  local look = {}
  rawset(open, look, {})
  return function()
    local waiting = open[look] or {}
    rawset(open, look, nil)
    for _, done in ipairs(waiting) do
      done()
    end
  end
end

---More than a git may take (git.lua): nobody waits for ever.
M.PATIENCE_MS = 20000

---Calls when all looks that go on now are over: at once where there is none, and after a while whatever they do.
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
