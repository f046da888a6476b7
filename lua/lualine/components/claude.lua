-- lualine: sections = { lualine_x = { "claude" } }

local component = require("lualine.component"):extend()

function component:update_status()
  return require("claude-ide.statusline").text()
end

return component
