-- Sends this Neovim's messages to clients of the session server: `Told` in crates/web/src/editor.rs.
local M = {}

---@param told table one field, named after the kind of message
---@return boolean told
function M.tell(told)
  local ok, json = pcall(vim.json.encode, told)
  if not ok then
    require("claude-ide.log").error("a message for the page could not be sent: %s", json)
    return false
  end
  local done, err = require("claude-ide.native").web_tell(json)
  if not done then
    require("claude-ide.log").warn("a message for the page could not be sent: %s", err)
  end
  return done == true
end

return M
