-- Two texts as a unified diff, for those who cannot see the windows: other programs, a page.
local M = {}

---Texts that are longer are not compared: it would hold the keys up.
local MAX_BYTES = 256 * 1024

local function shown(text)
  text = require("claude-ide.position").valid(text):gsub("\r\n", "\n")
  return text
end

---@param old string
---@param new string
---@return string? diff nil: the texts are too long
function M.of(old, new)
  if #old > MAX_BYTES or #new > MAX_BYTES then
    return nil
  end
  local diff = require("claude-ide.hunk").xdiff(shown(old), shown(new), { ctxlen = 3 })
  return type(diff) == "string" and diff or ""
end

return M
