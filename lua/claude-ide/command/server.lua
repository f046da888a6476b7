-- The subcommands that are commands of their own, too: `:ClaudeConnect` and `:ClaudeSend`. Apart from the others, so that to connect
-- loads nothing but this.
local M = {}

---@return boolean? ok
---@return string? err
function M.start()
  local info, err = require("claude-ide.server").start()
  return info and true or nil, err
end

---@return boolean? ok
---@return string? err
function M.connect()
  local info, err = require("claude-ide.server").start()
  if not info then
    return nil, err
  end
  require("claude-ide.ui.notice").info(require("claude-ide.command.status").connection(info))
  return true
end

---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.send(at)
  local ok, err = M.start()
  if not ok then
    return nil, err
  end
  if at.range then
    return require("claude-ide.mention").send_range(at.first, at.last)
  end
  return require("claude-ide.mention").from_here()
end

return M
