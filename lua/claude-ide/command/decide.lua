-- `:Claude decide`: goes to a request that waits for the user, wherever it is shown, also in the terminal alone.
local M = {}

---@return boolean? ok
---@return string? err
function M.run()
  local asks = require("claude-ide.sessions.asks")
  return asks.answer(asks.list())
end

return M
