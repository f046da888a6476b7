-- What runs while Neovim draws (decoration providers). An error there, and `<C-c>` at that time is one, would put a stack trace on the
-- screen; after three, Neovim no longer calls the provider.
local lazy = require("claude-ide.lazy")
local safely = lazy("claude-ide.base.safely")

local M = {}

---Sets what runs in redraws, instead of what did so before. It cannot change buffers or windows.
---@param namespace integer
---@param doing string what fails, for the log: "draw the board"
---@param callbacks vim.api.keyset.set_decoration_provider none: nothing runs any more
function M.on(namespace, doing, callbacks)
  local safe = {}
  for event, callback in pairs(callbacks) do
    safe[event] = safely.wrap(doing, callback)
  end
  vim.api.nvim_set_decoration_provider(namespace, safe)
end

return M
