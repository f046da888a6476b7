-- Sends this Neovim's messages to clients of the session server: `Told` in crates/web/src/editor.rs.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")

local M = {}

---@param message table one field, named after the kind of message
---@return boolean is_sent
function M.tell(message)
  local ok, json = pcall(vim.json.encode, message)
  if not ok then
    log.error("a message for the page could not be sent: %s", json)
    return false
  end
  local done, err = native.web_tell(json)
  if not done then
    log.warn("a message for the page could not be sent: %s", err)
  end
  return done == true
end

return M
