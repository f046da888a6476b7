-- `<C-c>` in a buffer of ours where it is mapped. A map alone is not enough: a `<C-c>` that comes while Neovim does anything but
-- wait for a key is an interrupt, and goes past all maps.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.interrupt_key")
local INTERRUPT = "\3"

---What it is to do, by buffer.
---@type table<integer, claude-ide.ui.InterruptKey>
local keys = {}

---@alias claude-ide.ui.InterruptKey fun(): fun()? what the key does as things are; nil: what it does anyway

---@param key string what is left of it after all maps
local function hear(key)
  local to_do = key == INTERRUPT and keys[vim.api.nvim_get_current_buf()]
  if to_do then
    vim.schedule(require("claude-ide.safely").wrap("interrupt", function()
      local act = to_do()
      if act then
        require("claude-ide.ui.notice").clear() -- Neovim's hint how to quit; what this says is to stay
        act()
      end
    end))
  end
end

---Whether this is the key.
---@param lhs string
---@return boolean
function M.is(lhs)
  return vim.keycode(lhs) == INTERRUPT
end

---In this buffer one that goes past all maps does this, too.
---@param buf integer
---@param to_do claude-ide.ui.InterruptKey
function M.on(buf, to_do)
  keys[buf] = to_do
  vim.on_key(hear, namespace)
end

---@param buf integer
function M.off(buf)
  keys[buf] = nil
  if not next(keys) then
    vim.on_key(nil, namespace)
  end
end

return M
