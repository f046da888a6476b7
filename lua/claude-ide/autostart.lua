-- What happens by itself once Neovim's screen is up. Quiet where it works.

local M = {}

function M.run()
  if not require("claude-ide.config").get().auto_start then
    return
  end
  local info, err = require("claude-ide.server").start()
  if not info then
    local short = "Claude cannot connect: `:checkhealth claude-ide` says what to do"
    require("claude-ide.ui.notice").warn(require("claude-ide.ui.one_line").fitting({ err or short, short }))
  end
end

return M
