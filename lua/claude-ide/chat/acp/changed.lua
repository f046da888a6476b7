-- An edit that the person changed before it was written: the protocol has no answer that says so, so it is said as a prompt.
local M = {}

---@param one claude-ide.chat.acp.Became
---@return string
local function words_for(one)
  if not one.accepted then
    return ("%s was left as it was: do not make your edit of it."):format(one.path)
  elseif one.accepted == one.proposed then
    return ("%s is as you proposed it."):format(one.path)
  end
  local patch = vim.diff(one.proposed or "", one.accepted, { ctxlen = 3 }) --[[@as string]]
  return ("This is how what is in %s now differs from what you proposed:\n```diff\n%s```"):format(
    one.path,
    patch
  )
end

---What the person made of an edit, told to the agent as the next prompt.
---@param chat claude-ide.chat.Chat
---@param became claude-ide.chat.acp.Became[] file by file
---@param words? string the person's own
function M.tell(chat, became, words)
  local what = #became == 1 and became[1].path or ("%d files"):format(#became)
  local lines = {
    ("I changed your edit of %s before it was written, and the editor wrote it. Do not make that edit again."):format(
      what
    ),
  }
  vim.list_extend(lines, vim.tbl_map(words_for, became))
  lines[#lines + 1] = words
  local text = table.concat(lines, "\n")
  chat:say(text, { { type = "text", text = require("claude-ide.position").valid(text) } })
end

return M
