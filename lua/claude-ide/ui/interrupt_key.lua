-- `<C-c>` in a buffer of ours where it is mapped. A map alone is not enough: a `<C-c>` that comes while Neovim does anything but
-- wait for a key is an interrupt, and goes past all maps.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.interrupt_key")
local INTERRUPT = "\3"

---What it does, by buffer; a result: whether it did something.
---@type table<integer, fun(): boolean?>
local runs = {}

---@param key string what is left of it after all maps
local function hear(key)
  local run = key == INTERRUPT and runs[vim.api.nvim_get_current_buf()]
  if run then
    vim.schedule(function()
      if run() then
        require("claude-ide.ui.notice").clear() -- Neovim's hint how to quit
      end
    end)
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
---@param run fun(): boolean?
function M.on(buf, run)
  runs[buf] = run
  vim.on_key(hear, namespace)
end

---@param buf integer
function M.off(buf)
  runs[buf] = nil
  if not next(runs) then
    vim.on_key(nil, namespace)
  end
end

return M
