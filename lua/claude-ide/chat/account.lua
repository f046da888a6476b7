-- On what account a chat draws, in words: as its CLI says when it begins. Another agent says nothing of it.
local M = {}

---@class claude-ide.chat.Account `AccountInfo` of the Agent SDK (0.3.330)
---@field email? string
---@field subscriptionType? string
---@field tokenSource? string
---@field apiKeySource? string
---@field apiProvider? string

---@type table<string, string>
local PROVIDERS = {
  bedrock = "Amazon Bedrock",
  vertex = "Google Vertex AI",
  foundry = "Microsoft Foundry",
  gateway = "your organization's gateway",
}

---@param text any
---@return string?
local function known(text)
  return type(text) == "string" and text ~= "" and text ~= "none" and text or nil
end

---@param chat claude-ide.chat.Chat
---@return string? what it draws on, in few words; nil: it is not known
function M.brief(chat)
  local account = chat.account
  if not account then
    return nil
  end
  local provider = known(account.apiProvider)
  local plan = known(account.subscriptionType)
  if provider and provider ~= "firstParty" then
    return PROVIDERS[provider] or provider
  elseif plan then
    return plan:find("^[Cc]laude") and plan or "Claude " .. plan:gsub("^%l", string.upper)
  elseif known(account.apiKeySource) then
    return "an API key"
  end
  return known(account.tokenSource) and "a token" or nil
end

---@param chat claude-ide.chat.Chat
---@return string
function M.full(chat)
  if chat.acp then
    return ("draws on the account that %s is signed in with"):format(chat.name)
  end
  local brief = M.brief(chat)
  if not brief then
    return "draws on the account that `claude` is logged in with"
  end
  local email, key = known(chat.account.email), known(chat.account.apiKeySource)
  local more = email or brief == "an API key" and key or nil
  return ("draws on %s%s"):format(brief, more and (" (%s)"):format(more) or "")
end

return M
