-- Questions of an agent whose files are being read: they may be taken back, or their agent be gone, before they are shown.
local M = {}

---@type table<claude-ide.chat.Request, true>
local waiting = {}

---Files are read for a question, and it is asked when that is done.
---@param request claude-ide.chat.Request
function M.begin(request)
  waiting[request] = true
end

---The files were read.
---@param request claude-ide.chat.Request
---@return boolean wanted somebody still waits for the answer
function M.done(request)
  local is_wanted = waiting[request] ~= nil
  waiting[request] = nil
  return is_wanted
end

---Nobody waits for the answer any more.
---@param chat claude-ide.chat.Chat
---@param id? string default: to none of the chat
function M.forget(chat, id)
  for request in pairs(waiting) do
    if request.chat == chat and (not id or request.id == id) then
      waiting[request] = nil
    end
  end
end

return M
