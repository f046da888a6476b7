-- The prompt buffers and their chats.
local M = {}

---@class claude-ide.chat.PromptBuffer
---@field buf integer
---@field chat claude-ide.chat.Chat
---@field at integer position in the history, 0: the current text
---@field draft string the user's text at position 0, as of the last step in the history
---@field recalled? string the history's text at another position
---@field edited table<string, string> what the user has made of recalled texts, by these
---@field queued integer number of the chat's queued prompts, as kept on disk
---@field is_kept_soon? boolean its text will be put on disk
---@field hide fun() hides the chat
---@field to_terminal fun() continues it in the terminal

---@type table<integer, claude-ide.chat.PromptBuffer>
M.by_buffer = {}

---@param buf integer
---@return claude-ide.chat.PromptBuffer?
function M.of(buf)
  return M.by_buffer[buf]
end

return M
