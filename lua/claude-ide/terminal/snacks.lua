-- The terminal in a window of snacks.nvim. Only the window is its: process, keys and pastes are ours, since its own
-- terminal takes a double Esc for itself, which the CLI needs.

---@type table<integer, table> snacks.win by window
local windows = {}

---@param buf integer
---@return integer win
local function open_window(buf)
  local options = require("claude-ide.config").get().terminal
  local vertical = options.side == "left" or options.side == "right"
  local made = require("snacks").win(vim.tbl_deep_extend("force", {
    position = options.side,
    width = vertical and options.size or 0,
    height = vertical and 0 or options.size,
    fixbuf = false,
    keys = { q = "hide" },
  }, options.snacks, { buf = buf, enter = false, show = true }))
  windows[made.win] = made
  return made.win
end

---@param win integer
local function close_window(win)
  local made = windows[win]
  windows[win] = nil
  if made then
    made:hide()
  else
    vim.api.nvim_win_close(win, true)
  end
end

local provider = require("claude-ide.terminal.embedded").provider({
  open_window = open_window,
  close_window = close_window,
})

function provider.check()
  if pcall(require, "snacks") then
    return true
  end
  return false, 'terminal.provider is "snacks", but snacks.nvim is not installed.'
end

return provider
