-- `<C-c>` in plugin buffers. A mapping alone is not enough: while Neovim is busy, `<C-c>` is an interrupt and bypasses mappings.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local safely = lazy("claude-ide.base.safely")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.interrupt_key")
local INTERRUPT = "\3"

---Handlers by buffer.
---@type table<integer, claude-ide.ui.InterruptKey>
local keys = {}

---@alias claude-ide.ui.InterruptKey fun(): fun()? returns the action for the current state; nil: Neovim's default

---@param key string after all mappings
local function on_key(key)
  local to_do = key == INTERRUPT and keys[vim.api.nvim_get_current_buf()]
  if to_do then
    vim.schedule(safely.wrap("interrupt", function()
      local act = to_do()
      if act then
        notice.clear() -- removes Neovim's hint how to quit, so that the action's message stays
        act()
      end
    end))
  end
end

---Whether `lhs` is `<C-c>`.
---@param lhs string
---@return boolean
function M.is(lhs)
  return vim.keycode(lhs) == INTERRUPT
end

---Also runs `to_do` when `<C-c>` bypasses the buffer's mappings.
---@param buf integer
---@param to_do claude-ide.ui.InterruptKey
function M.on(buf, to_do)
  keys[buf] = to_do
  vim.on_key(on_key, namespace)
end

---@param buf integer
function M.off(buf)
  keys[buf] = nil
  if not next(keys) then
    vim.on_key(nil, namespace)
  end
end

return M
