-- Polls with increasing intervals and a timeout.

local lazy = require("claude-ide.lazy")
local process = lazy("claude-ide.base.process")

local M = {}

---First and maximum interval; it doubles each time.
local FIRST_MS, LONGEST_MS = 100, 1000

---@param look fun(answer: fun(found: any)) calls back once, with nil if not found yet; polling ends if it does not
---@param patience_ms integer timeout; 0: one attempt
---@param done fun(found: any) nil: timeout
---@return fun()? cancel nil: already done
function M.until_found(look, patience_ms, done)
  local deadline, pause_ms, over = vim.uv.now() + patience_ms, FIRST_MS, false
  local function once()
    look(function(found)
      local left_ms = deadline - vim.uv.now()
      if over then
        return
      elseif found ~= nil or left_ms <= 0 then
        over = true
        return done(found)
      end
      vim.defer_fn(function()
        if not over then
          once()
        end
      end, math.min(pause_ms, left_ms))
      pause_ms = math.min(pause_ms * 2, LONGEST_MS)
    end)
  end
  once()
  return not over and function()
    over = true
  end or nil
end

---Waits for processes to end.
---@param pids integer[]
---@param patience_ms integer
---@param done fun(have_ended?: true) nil: timeout
---@return fun()? cancel nil: already done
function M.until_ended(pids, patience_ms, done)
  return M.until_found(function(answer)
    answer(not vim.iter(pids):any(process.runs) or nil)
  end, patience_ms, done)
end

return M
