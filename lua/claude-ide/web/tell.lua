-- What those who read sessions over a socket are told by this Neovim: see `Told` in crates/web/src/editor.rs.
local M = {}

---@param told table one field, named after what it is
---@return boolean told
function M.tell(told)
  local ok, json = pcall(vim.json.encode, told)
  if not ok then
    require("claude-ide.log").error("a page cannot be told something: %s", json)
    return false
  end
  local done, err = require("claude-ide.native").web_tell(json)
  if not done then
    require("claude-ide.log").warn("a page cannot be told something: %s", err)
  end
  return done == true
end

return M
