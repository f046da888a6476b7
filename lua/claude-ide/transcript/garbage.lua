-- Lua's collector where much is made that is dear to free: parsers and syntax trees. Left to itself it frees hundreds of them in one
-- go, in the middle of whatever runs (20 to 30 ms were measured while an answer was drawn, 4 of them the work itself).
local M = {}

---How long it may take after the work, of what the work took and at most.
local SHARE, MOST_NS = 0.5, 2e6

---Does something while the collector waits, which then gets its share of the time. It goes on by itself afterwards.
---@param fn fun()
---@return boolean ok
---@return any err
function M.paced(fn)
  local began = vim.uv.hrtime()
  collectgarbage("stop")
  local ok, err = pcall(fn)
  local now = vim.uv.hrtime()
  local stop = now + math.min((now - began) * SHARE, MOST_NS)
  -- The first step lets it run again, whatever comes of it.
  repeat
    local is_over = collectgarbage("step")
  until is_over or vim.uv.hrtime() > stop
  return ok, err
end

return M
