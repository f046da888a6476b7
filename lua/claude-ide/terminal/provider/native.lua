-- The terminal in a split at a side of the screen.
local lazy = require("claude-ide.lazy")
local split = lazy("claude-ide.ui.split")

local embedded = require("claude-ide.terminal.provider.embedded")

return embedded.provider({
  open_window = embedded.open_at_side,
  close_window = function(win)
    split.close({ win })
  end,
})
