-- Where the sides of a diff go, as data. `view` turns it into windows; nothing else knows of an arrangement.
-- A layout fits any place: it says how its windows lie to each other, not whether they fill a tab, a window or a float.
-- Every one begins with the proposal's window, so that changing from one to another leaves that window alone.
local M = {}

---@alias claude-ide.diff.Side "now"|"proposal"
---@alias claude-ide.diff.LayoutName "vertical"|"horizontal"|"unified"

---@class claude-ide.diff.Layout
---@field now? "left"|"above" where the present text goes; nil: within the proposal, as lines that are not text

---@type table<claude-ide.diff.LayoutName, claude-ide.diff.Layout>
local LAYOUTS = {
  vertical = { now = "left" },
  horizontal = { now = "above" },
  unified = {},
}

---In the order in which a key goes through them.
---@type claude-ide.diff.LayoutName[]
M.NAMES = { "vertical", "horizontal", "unified" }

---What the person chose last in this Neovim.
local chosen ---@type claude-ide.diff.LayoutName?

---@param name claude-ide.diff.LayoutName
---@return claude-ide.diff.Layout
function M.get(name)
  return LAYOUTS[name]
end

---The layout of the next diff.
---@return claude-ide.diff.LayoutName
function M.preferred()
  return chosen or require("claude-ide.config").get().diff.layout
end

---Remembers what the next diffs are to look like.
---@param name claude-ide.diff.LayoutName
function M.prefer(name)
  chosen = name
end

---@param name claude-ide.diff.LayoutName
---@return claude-ide.diff.LayoutName
function M.after(name)
  for i, other in ipairs(M.NAMES) do
    if other == name then
      return M.NAMES[i % #M.NAMES + 1]
    end
  end
  return M.NAMES[1]
end

return M
