-- The sessions of an agent, as it lists them: one is chosen, and the chat goes on with it.
local M = {}

local MOST_PAGES = 10

---@param chat claude-ide.chat.Chat
---@param session? string
local function begin(chat, session)
  chat:ask("session", { sessionId = session }, function() end)
end

---@param chat claude-ide.chat.Chat
---@param sessions table[]
local function choose(chat, sessions)
  local new = { title = "A new session" }
  local items = vim.list_extend({ new }, sessions)
  require("claude-ide.ui.choose").select(items, {
    prompt = ("Sessions of %s"):format(chat.name),
    format_item = function(item)
      local when = type(item.updatedAt) == "string" and item.updatedAt:sub(1, 16):gsub("T", " ") .. "  " or ""
      return when .. (type(item.title) == "string" and item.title ~= "" and item.title or item.sessionId)
    end,
  }, function(item)
    begin(chat, item and item.sessionId or nil)
  end)
end

---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local can = chat.acp.capabilities.sessionCapabilities
  if type(can) ~= "table" or not can.list then
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
      vim.list_extend(sessions, type(result.sessions) == "table" and result.sessions or {})
      if type(result.nextCursor) == "string" and pages < MOST_PAGES then
        return page(result.nextCursor)
      end
      choose(chat, sessions)
    end)
  end
  page()
end

return M
