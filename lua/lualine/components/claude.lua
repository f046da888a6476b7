-- lualine: sections = { lualine_x = { "claude" } }, or a part: { "claude", part = "context" }

---@diagnostic disable-next-line: unresolved-require lualine is there where this is loaded
local component = require("lualine.component"):extend()

function component:update_status()
  return (require("claude-ide.statusline")[self.options.part or "text"]():gsub("%%", "%%%%"))
end

return component
