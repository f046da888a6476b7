-- The file that a call is about.

---@type claude-ide.transcript.TargetKind
local M = {}

function M.go(view, target, at, how)
  local files = require("claude-ide.transcript.files")
  local lnum = at.offset > 0 and files.diff_line(at.item, at.offset) or target.lnum
  files.open(view, target.path, lnum, how)
end

return M
