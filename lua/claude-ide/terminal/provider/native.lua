-- The terminal in a split at a side of the screen.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local split = lazy("claude-ide.ui.split")

---Minimum size of the terminal and of the rest.
local LEAST = { columns = 20, lines = 5 }

return require("claude-ide.terminal.provider.embedded").provider({
  open_window = function(buf)
    local options = config.get().terminal
    local wanted = { side = options.side, size = options.size, least = LEAST, fixed = true }
    return split.open_at_side(buf, wanted)
  end,
  close_window = function(win)
    split.close({ win })
  end,
})
