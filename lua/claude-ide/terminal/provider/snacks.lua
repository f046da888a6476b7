-- The terminal in a window of snacks.nvim. Process, keys and pastes are ours: its own terminal reserves a double Esc, which the CLI
-- needs.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local modifiers = lazy("claude-ide.ui.modifiers")
local split = lazy("claude-ide.ui.split")
local window = lazy("claude-ide.base.window")

local embedded = require("claude-ide.terminal.provider.embedded")

---@type table<integer, table> snacks.win by window
local windows = {}

---The terminal's options as those of snacks.nvim. A float has no side, and keeps snacks.nvim's size.
local function placement()
  local options = config.get().terminal
  local position = options.snacks.position or options.side
  local placed = { position = position }
  if position == "left" or position == "right" then
    placed.width = options.size
  elseif position ~= "float" then
    placed.height = options.size
  end
  return vim.tbl_extend("force", placed, options.snacks)
end

---@return integer win
local function open_window(buf)
  if modifiers.is_given() then
    return embedded.open_at_side(buf)
  end
  local ours = { buf = buf, enter = false, show = true, fixbuf = false }
  ---@diagnostic disable-next-line: undefined-field another plugin's module
  local made = require("snacks").win(vim.tbl_extend("force", { keys = { q = "hide" } }, placement(), ours))
  windows[made.win] = made
  return made.win
end

local function close_window(win)
  local made = windows[win]
  windows[win] = nil
  if made and not window.is_last(win) then
    window.close_floats_over(win)
    made:hide()
  else
    split.close({ win })
  end
end

local provider = embedded.provider({
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
