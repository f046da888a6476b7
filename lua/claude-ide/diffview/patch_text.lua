-- Formats two texts as a unified diff, for other programs and the page.
local M = {}

---Longer texts are not compared: it would block Neovim.
local MAX_BYTES = 256 * 1024

local function shown(text)
  text = require("claude-ide.position").valid(text):gsub("\r\n", "\n")
  return text
end

---@param old string
---@param new string
---@return string? diff nil: too long
function M.of(old, new)
  if #old > MAX_BYTES or #new > MAX_BYTES then
    return nil
  end
  local diff = require("claude-ide.hunk").xdiff(shown(old), shown(new), { ctxlen = 3 })
  return type(diff) == "string" and diff or ""
end

return M
