-- The permission mode that the options give to new sessions.
-- Source: CLI 2.1.329. A session that is resumed has the mode that it had, unless the flag is given.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")

local M = {}

---Arguments by which the user has chosen a mode, or resumes a session that has one.
---@type table<string, true>
local CHOSEN = {}
for flag in
  ("--permission-mode --dangerously-skip-permissions --resume -r --continue -c --from-pr --teleport"):gmatch(
    "%S+"
  )
do
  CHOSEN[flag] = true
end

---@param words string[]
---@param flags string pattern
---@return boolean
local function choose(words, flags)
  for _, word in ipairs(words) do
    if word == "--" then
      return false
    elseif CHOSEN[word:match(flags)] then
      return true
    end
  end
  return false
end

---@param command string[] a short flag there may be that of another program
---@param args string[]
---@return string[]
function M.of(command, args)
  local mode = config.get().terminal.permission_mode
  if not mode or choose(command, "^%-%-[^=]+") or choose(args, "^%-[^=]+") then
    return {}
  end
  return { "--permission-mode", mode }
end

return M
