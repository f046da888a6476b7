-- Looks again for what nobody tells of when it is there: less and less often, and not for ever.

local M = {}

---Between two looks: twice as long each time, up to the second.
local FIRST_MS, LONGEST_MS = 100, 1000

---@param look fun(answer: fun(found: any)) calls back once, with nil where there is nothing yet; where it does not, that is the end
---@param patience_ms integer for how long; 0: one look
---@param done fun(found: any) nil: it was not there in all this time
---@return fun()? cancel nil: it is over
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

return M
