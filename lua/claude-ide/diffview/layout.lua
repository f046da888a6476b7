-- Layouts of a diff's sides, as data. `windows` applies them.
-- A layout is relative: it fits a tab page, a window or a float. All keep the proposal's window, so that switching does not affect it.
local M = {}

---@alias claude-ide.diffview.Side "now"|"proposal"
---@alias claude-ide.diffview.LayoutName "vertical"|"horizontal"|"unified"

---@class claude-ide.diffview.Layout
---@field now? "left"|"above" side of the current text; nil: virtual lines in the proposal

---@type table<claude-ide.diffview.LayoutName, claude-ide.diffview.Layout>
local LAYOUTS = {
  vertical = { now = "left" },
  horizontal = { now = "above" },
  unified = {},
}

---In the order of the key.
---@type claude-ide.diffview.LayoutName[]
M.NAMES = { "vertical", "horizontal", "unified" }

---With fewer columns each side would show less than half a line of code.
local MIN_COLUMNS = 100

---The user's last choice in this Neovim.
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

---Sets the layout of the next diffs.
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
