-- The sessions of an agent, as it lists them: one is chosen, and the chat goes on with it.
local M = {}

local MOST_PAGES = 10

---@param chat claude-ide.chat.Chat
---@param session? string
---@param fork? boolean
local function begin(chat, session, fork)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  if fork then
    chat.store:put("notice", "This is a copy of that session: what was said in it is not shown here.")
  elseif session then
    if acp.give_way and acp.give_way(session) then
      return
    end
    acp.list = session -- for one that comes now with the same
  end
  chat:ask("session", { sessionId = session, fork = fork }, function() end)
end

---@param chat claude-ide.chat.Chat
---@return table what it says that it can do with sessions
local function abilities(chat)
  local can = chat.acp.capabilities.sessionCapabilities
  return type(can) == "table" and can or {}
end

---Goes on with one, or with a copy where the agent makes copies.
---@param chat claude-ide.chat.Chat
---@param session string
local function go_on(chat, session)
  if not abilities(chat).fork then
    return begin(chat, session)
  end
  local same, copy = "Go on with it", "Go on in a copy"
  require("claude-ide.ui.choose").select({ same, copy }, { prompt = "Which?" }, function(choice)
    begin(chat, choice and session, choice == copy)
  end)
end

---The one that was asked for by the beginning of its id.
---@param chat claude-ide.chat.Chat
---@param sessions table[]
---@return string?
local function wanted(chat, sessions)
  local begins, found = chat.acp.list, nil ---@type boolean|string?, string?
  if type(begins) ~= "string" then
    return nil
  end
  for _, one in ipairs(sessions) do
    if one.sessionId == begins then
      return begins
    elseif vim.startswith(one.sessionId, begins) then
      if found then
        return nil
      end
      found = one.sessionId
    end
  end
  return found
end

---@param chat claude-ide.chat.Chat
---@param sessions table[]
local function choose(chat, sessions)
  local known = wanted(chat, sessions)
  if known then
    return go_on(chat, known)
  end
  local new = { title = "A new session" }
  local items = vim.list_extend({ new }, sessions)
  require("claude-ide.ui.choose").select(items, {
    prompt = ("Sessions of %s"):format(chat.name),
    is_unasked = true,
    format_item = function(item)
      local when = type(item.updatedAt) == "string" and item.updatedAt:sub(1, 16):gsub("T", " ") .. "  " or ""
      return when .. (type(item.title) == "string" and item.title ~= "" and item.title or item.sessionId)
    end,
  }, function(item)
    if item and item.sessionId then
      go_on(chat, item.sessionId)
    else
      begin(chat)
    end
  end)
end

---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local begins = chat.acp.list
  if not abilities(chat).list and type(begins) == "string" then
    return begin(chat, begins) -- it may be all of the id
  elseif not abilities(chat).list then
    chat.store:put("notice", ("%s does not list its sessions: this is a new one."):format(chat.name))
    return begin(chat)
  end
  local sessions, pages = {}, 0
  local function page(cursor)
    pages = pages + 1
    chat:ask("list", { cwd = chat.cwd, cursor = cursor }, function(result, err)
      if err or type(result) ~= "table" then
        chat.store:put("notice", ("%s did not list its sessions: %s."):format(chat.name, err or "no answer"))
        return begin(chat)
      end
      for _, one in ipairs(type(result.sessions) == "table" and result.sessions or {}) do
        if type(one) == "table" and type(one.sessionId) == "string" and one.sessionId ~= "" then
          sessions[#sessions + 1] = one
        end
      end
      if type(result.nextCursor) == "string" and pages < MOST_PAGES then
        return page(result.nextCursor)
      end
      choose(chat, sessions)
    end)
  end
  page()
end

return M
