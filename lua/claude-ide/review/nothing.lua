-- What is said where there is nothing to review, or to take back: not that Claude has changed nothing, where it has.
local M = {}

---@param start string as in "Nothing to undo"
---@param otherwise string why, where nothing is left out
function M.say(start, otherwise)
  local turns = require("claude-ide.journal").turns()
  local last = turns[#turns]
  local count = last and last.left_out or 0
  local noun = count == 1 and "file" or "files"
  require("claude-ide.ui.notice").info(count > 0 and {
    ("%s: Claude's last turn changed %d %s of which no copy was made (too large, or kept from it)."):format(
      start,
      count,
      noun
    ),
    ("%s: no copy was made of %d changed %s."):format(start, count, noun),
  } or start .. ": " .. otherwise)
end

return M
