-- The prompts that have a buffer, and whose they are.
local M = {}

---@class claude-ide.chat.PromptBuffer
---@field buf integer
---@field chat claude-ide.chat.Chat
---@field at integer where in the history, 0: what is being written
---@field draft? string what was being written when the history was entered
---@field recalled? string what the history has there
---@field kept? string what was kept of it on the disk while it is written
---@field hide fun() hides the chat
---@field to_terminal fun() goes on with it in the terminal

---@type table<integer, claude-ide.chat.PromptBuffer>
M.by_buffer = {}

---@param buf integer
---@return claude-ide.chat.PromptBuffer?
function M.of(buf)
  return M.by_buffer[buf]
end

---What was kept of them on the disk while they are written.
---@param cwd string
---@return string[]
function M.kept(cwd)
  local texts = {}
  for _, prompt in pairs(M.by_buffer) do
    if prompt.chat.cwd == cwd then
      texts[#texts + 1] = prompt.kept
    end
  end
  return texts
end

return M
