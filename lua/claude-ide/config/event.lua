-- `User` autocommand events for users' configurations.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")

local M = {}

---Emits `User <name>`. A failing handler does not affect the plugin: Neovim reports the error.
---@param name "ClaudeConnected"|"ClaudeDisconnected"|"ClaudeDiffOpened"|"ClaudeDiffClosed"|"ClaudeMentionSent"|string
---@param data? table `data` of the event
function M.emit(name, data)
  if vim.in_fast_event() then
    vim.schedule(function()
      M.emit(name, data)
    end)
    return
  end
  local ok, err = pcall(vim.api.nvim_exec_autocmds, "User", { pattern = name, modeline = false, data = data })
  if not ok then
    log.warn("a handler of User %s failed: %s", name, err)
    vim.schedule(function()
      notice.error(("A handler of `User %s` failed: %s"):format(name, err))
    end)
  end
end

return M
