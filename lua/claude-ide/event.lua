-- The `User` autocommand events that this plugin sends, for other people's configurations.
local M = {}

---Sends `User <name>`. A handler that fails does not stop the plugin: Neovim reports it to the user whose handler it is.
---@param name "ClaudeConnected"|"ClaudeDisconnected"|"ClaudeDiffOpened"|"ClaudeDiffClosed"|"ClaudeMentionSent"|string
---@param data? table what the handler gets as `data`
function M.emit(name, data)
  if vim.in_fast_event() then
    vim.schedule(function()
      M.emit(name, data)
    end)
    return
  end
  local ok, err = pcall(vim.api.nvim_exec_autocmds, "User", { pattern = name, modeline = false, data = data })
  if not ok then
    require("claude-ide.log").warn("a handler of User %s failed: %s", name, err)
    vim.schedule(function()
      require("claude-ide.ui.notice").error(("A handler of `User %s` failed: %s"):format(name, err))
    end)
  end
end

return M
