-- Where the sides of a diff go, as data. `view` turns it into windows; nothing else knows of an arrangement.
-- A layout fits any place: it says how its windows lie to each other, not whether they fill a tab, a window or a float.
local M = {}

---@alias claude-ide.diff.Side "now"|"proposal"

---@class claude-ide.diff.Split
---@field side claude-ide.diff.Side what the new window shows
---@field of claude-ide.diff.Side the window that gives it room
---@field direction "left"|"right"|"above"|"below"

---@class claude-ide.diff.Layout
---@field first claude-ide.diff.Side the side whose window is there to begin with
---@field splits claude-ide.diff.Split[] the others, one after another
---@field focus claude-ide.diff.Side where the cursor goes

---@type table<string, claude-ide.diff.Layout>
local LAYOUTS = {
  vertical = {
    first = "now",
    splits = { { side = "proposal", of = "now", direction = "right" } },
    focus = "proposal",
  },
}

---@param name string
---@return claude-ide.diff.Layout
function M.get(name)
  return LAYOUTS[name] or LAYOUTS.vertical
end

return M
