-- An edit that the person changed before it was written: the protocol has no answer that says so, so it is said as a prompt.
local M = {}

---What the person made of an edit, told to the agent as the next prompt.
---@param chat claude-ide.chat.Chat
---@param path string
---@param proposed string
---@param accepted string
function M.tell(chat, path, proposed, accepted)
  local patch = vim.diff(proposed, accepted, { ctxlen = 3 }) --[[@as string]]
  local text = ("I changed your edit of %s before it was written, and the editor wrote it. Do not make that edit again. "):format(
    path
  ) .. ("This is how what is in the file now differs from what you proposed:\n```diff\n%s```"):format(patch)
  chat:say(text, { { type = "text", text = require("claude-ide.position").valid(text) } })
end

return M
