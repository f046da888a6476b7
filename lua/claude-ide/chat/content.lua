-- What a prompt becomes for the agent: its text, and what it names with `#`.
local M = {}

---@param text string
---@param chat claude-ide.chat.Chat
---@return table[]? blocks
---@return string? problem
function M.of(text, chat)
  local blocks = {}
  local position = require("claude-ide.position")
  for _, part in ipairs(require("claude-ide.chat.context").of(text, chat)) do
    blocks[#blocks + 1] = { type = "text", text = position.valid(part) }
  end
  blocks[#blocks + 1] = { type = "text", text = position.valid(text) }
  return blocks
end

return M
