-- How the user has texts compared: what 'diffopt' says of which lines belong together. So a change is the same lines to
-- the keys that keep and drop it as to diff mode, which shows it.
-- What 'diffopt' leaves out (`iwhite` and its like) stays a change: it will be written.
local M = {}

---@alias claude-ide.compare.Algorithm "myers"|"minimal"|"patience"|"histogram"

---@type table<string, claude-ide.compare.Algorithm>
local ALGORITHMS = { myers = "myers", minimal = "minimal", patience = "patience", histogram = "histogram" }

---@class claude-ide.compare.Options
---@field algorithm claude-ide.compare.Algorithm
---@field indent_heuristic boolean

---@return claude-ide.compare.Options
function M.of_user()
  return {
    algorithm = ALGORITHMS[vim.o.diffopt:match("algorithm:(%a+)") or "myers"] or "myers",
    indent_heuristic = vim.o.diffopt:find("indent-heuristic", 1, true) ~= nil,
  }
end

return M
