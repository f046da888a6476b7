-- Where the sides of a diff go, as data. `view` turns it into windows; nothing else knows of an arrangement.
-- A layout fits any place: it says how its windows lie to each other, not whether they fill a tab, a window or a float.
-- Every one begins with the proposal's window, so that changing from one to another leaves that window alone.
local M = {}

---@alias claude-ide.diffview.Side "now"|"proposal"
---@alias claude-ide.diffview.LayoutName "vertical"|"horizontal"|"unified"

---@class claude-ide.diffview.Layout
---@field now? "left"|"above" where the present text goes; nil: within the proposal, as lines that are not text

---@type table<claude-ide.diffview.LayoutName, claude-ide.diffview.Layout>
local LAYOUTS = {
  vertical = { now = "left" },
  horizontal = { now = "above" },
  unified = {},
}

---In the order in which a key goes through them.
---@type claude-ide.diffview.LayoutName[]
M.NAMES = { "vertical", "horizontal", "unified" }

---With fewer columns each of two sides would have less than half of a line of code.
local MIN_COLUMNS = 100

---What the user chose last in this Neovim.
local chosen ---@type claude-ide.diffview.LayoutName?

---@param name claude-ide.diffview.LayoutName
---@return claude-ide.diffview.Layout
function M.get(name)
  return LAYOUTS[name]
end

---The layout of the next diff.
---@return claude-ide.diffview.LayoutName
function M.preferred()
  if chosen then
    return chosen
  end
  local layout = require("claude-ide.config").get().diff.layout
  if layout == "auto" then
    return vim.o.columns < MIN_COLUMNS and "unified" or "vertical"
  end
  return layout --[[@as claude-ide.diffview.LayoutName]]
end

---Remembers what the next diffs are to look like.
---@param name claude-ide.diffview.LayoutName
function M.prefer(name)
  chosen = name
end

---@param name claude-ide.diffview.LayoutName
---@return claude-ide.diffview.LayoutName
function M.after(name)
  for i, other in ipairs(M.NAMES) do
    if other == name then
      return M.NAMES[i % #M.NAMES + 1]
    end
  end
  return M.NAMES[1]
end

return M
