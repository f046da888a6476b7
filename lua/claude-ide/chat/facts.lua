-- What the line above a chat says of it, beside what every transcript says.
local M = {}

---@type table<string, string>
local ERRORS = {
  overloaded = "overloaded",
  overloaded_error = "overloaded",
  rate_limit = "rate limited",
  server_error = "server error",
}

---@param retry claude-ide.chat.Retry
---@return string
function M.retry(retry)
  local what = ERRORS[retry.error or ""] or retry.error or "no answer"
  local status = retry.status and (" (%d)"):format(retry.status) or ""
  local left = math.max(math.ceil((retry.at - vim.uv.now()) / 1000), 0)
  local count = retry.most > 0 and ("%d/%d"):format(retry.attempt, retry.most) or tostring(retry.attempt)
  return ("%s%s · retry %s in %d s"):format(what, status, count, left)
end

---@param chat claude-ide.chat.Chat
---@return claude-ide.transcript.Fact[]
function M.of(chat)
  local facts = {} ---@type claude-ide.transcript.Fact[]
  local function add(text, group)
    facts[#facts + 1] = { text, group }
  end
  if chat.state == "ended" then
    add("ended", "ClaudeTranscriptFailed")
  elseif chat.retry then
    add(M.retry(chat.retry), "ClaudeTranscriptFailed")
  elseif chat.doing then
    add(chat.doing, "ClaudeTranscriptWorking")
  elseif chat.state == "starting" then
    add("starting", "ClaudeTranscriptWorking")
  end
  if chat.mode and chat.mode ~= "default" then
    add(chat.mode, chat.mode == "bypassPermissions" and "ClaudeTranscriptFailed" or "ClaudeTranscriptWaiting")
  end
  if chat.cost and chat.cost >= 0.005 then
    add(("$%.2f"):format(chat.cost))
  end
  return facts
end

return M
