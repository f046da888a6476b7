-- lualine: sections = { lualine_x = { "claude" } }

---@diagnostic disable-next-line: unresolved-require lualine is there where this is loaded
local component = require("lualine.component"):extend()

function component:update_status()
  return require("claude-ide.statusline").text()
end

return component
