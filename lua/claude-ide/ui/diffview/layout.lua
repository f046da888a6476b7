-- Layouts of a diff's sides, as data. `windows` applies them.
-- A layout is relative: it fits a tab page, a window or a float. All keep the right window, so that switching does not affect it.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")

local M = {}

---@alias claude-ide.diffview.Side "left"|"right"
---@alias claude-ide.diffview.LayoutName "vertical"|"horizontal"|"unified"
---@alias claude-ide.diffview.Direction "left"|"right"|"above"|"below" as Neovim names the side of a split

---@class claude-ide.diffview.Layout
---@field name claude-ide.diffview.LayoutName
---@field direction? claude-ide.diffview.Direction of the left side's window; nil: virtual lines in the right one

---In the order of the key.
---@type claude-ide.diffview.Layout[]
local LAYOUTS = {
  { name = "vertical", direction = "left" },
  { name = "horizontal", direction = "above" },
  { name = "unified" },
}

---With fewer columns each side would show less than half a line of code.
local MIN_COLUMNS = 100

---The user's last choice in this Neovim.
local chosen ---@type claude-ide.diffview.LayoutName?

---@param name claude-ide.diffview.LayoutName
---@return claude-ide.diffview.Layout layout
---@return claude-ide.diffview.LayoutName next
function M.get(name)
  for i, layout in ipairs(LAYOUTS) do
    if layout.name == name then
      return layout, LAYOUTS[i % #LAYOUTS + 1].name
    end
  end
  error("no such layout: " .. name)
end

---Whether the texts are side by side, not one above the other.
---@param direction claude-ide.diffview.Direction
---@return boolean
function M.is_beside(direction)
  return direction == "left" or direction == "right"
end

---The layout of the next diff.
---@return claude-ide.diffview.LayoutName
function M.preferred()
  if chosen then
    return chosen
  end
  local layout = config.get().diff.layout
  if layout == "auto" then
    return vim.o.columns < MIN_COLUMNS and "unified" or "vertical"
  end
  return layout --[[@as claude-ide.diffview.LayoutName]]
end

---Sets the layout of the next diffs.
---@param name claude-ide.diffview.LayoutName
function M.prefer(name)
  chosen = name
end

return M
