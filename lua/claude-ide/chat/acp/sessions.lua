-- Lists an agent's sessions, and resumes the chosen one in the chat.
local lazy = require("claude-ide.lazy")
local ui_choose = lazy("claude-ide.ui.choose")

local M = {}

---@param chat claude-ide.chat.Chat
---@param session? string
---@param fork? boolean
local function begin(chat, session, fork)
  if fork then
    chat.store:put("notice", "This is a copy of that session. Its earlier messages are not shown here.")
  elseif session then
    if chat.give_way and chat:give_way(session) then
      return
    end
    chat.wanted = session -- for one that comes now with the same
  end
  chat:send({ begin_session = { session = session, fork = fork == true } })
end

---Resumes a session, or a copy if the agent supports it.
---@param chat claude-ide.chat.Chat
---@param session string
local function go_on(chat, session)
  if not chat.can.fork then
    return begin(chat, session)
  end
  local same, copy = "Continue it", "Continue in a copy"
  ui_choose.select({ same, copy }, { prompt = "Which?" }, function(choice)
    begin(chat, choice and session, choice == copy)
  end)
end

---The session requested by the beginning of its id.
---@param chat claude-ide.chat.Chat
---@param sessions { id: string }[]
---@return string?
local function wanted(chat, sessions)
  local begins, found = chat.wanted, nil ---@type boolean|string?, string?
  if type(begins) ~= "string" then
    return nil
  end
  for _, one in ipairs(sessions) do
    if one.id == begins then
      return begins
    elseif vim.startswith(one.id, begins) then
      if found then
        return nil
      end
      found = one.id
    end
  end
  return found
end

---@param chat claude-ide.chat.Chat
---@param sessions { id: string, title?: string, updated?: string }[]
local function choose(chat, sessions)
  local known = wanted(chat, sessions)
  if known then
    return go_on(chat, known)
  end
  local items = vim.list_extend({ { title = "A new session" } }, sessions)
  ui_choose.select(items, {
    prompt = ("Sessions of %s"):format(chat.name),
    is_unasked = true,
    format_item = function(item)
      local when = item.updated and item.updated:sub(1, 16):gsub("T", " ") .. "  " or ""
      return when .. (item.title or item.id)
    end,
  }, function(item)
    if item and item.id then
      go_on(chat, item.id)
    else
      begin(chat)
    end
  end)
end

---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local begins = chat.wanted
  if not chat.can.list and type(begins) == "string" then
    return begin(chat, begins) -- it may be the whole id
  elseif not chat.can.list then
    chat.store:put("notice", ("%s does not list its sessions: this is a new one."):format(chat.name))
    return begin(chat)
  end
  chat:ask("list_sessions", {}, function(answer, err)
    if not answer or err then
      chat.store:put("notice", ("%s did not list its sessions: %s."):format(chat.name, err))
      return begin(chat)
    end
    choose(chat, answer.sessions or {})
  end)
end

return M
