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

---@type table<string, string>
local LIMITS = {
  five_hour = "5 hours' limit",
  seven_day = "week's limit",
  seven_day_opus = "week's limit of Opus",
  seven_day_sonnet = "week's limit of Sonnet",
  overage = "extra usage",
}

---@param limit table
---@return string
function M.limit(limit)
  local which = LIMITS[limit.rateLimitType] or "limit"
  local used = tonumber(limit.utilization)
  local words = limit.status == "rejected" and which .. " reached"
    or used and ("%d%% of the %s"):format(math.floor(used * 100 + 0.5), which)
    or "near the " .. which
  local at = tonumber(limit.resetsAt)
  return at and ("%s until %s"):format(words, os.date("%H:%M", at)) or words
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
  elseif chat.state == "starting" then
    add("starting", "ClaudeTranscriptWorking")
  end
  local account = #chat.store.messages == 0 and require("claude-ide.chat.account").brief(chat)
  if account then
    add("draws on " .. account)
  end
  if chat.doing then
    add(chat.doing, "ClaudeTranscriptWorking")
  end
  local limit_ends = chat.limit and tonumber(chat.limit.resetsAt)
  if chat.limit and not (limit_ends and limit_ends < os.time()) then
    add(M.limit(chat.limit), "ClaudeTranscriptFailed")
  end
  local running = vim.tbl_count(chat.tasks)
  if running > 0 then
    add(running == 1 and "1 task" or ("%d tasks"):format(running), "ClaudeTranscriptWorking")
  end
  local reply = chat.store.last_reply
  if chat.window_size and reply and reply.usage then
    local usage = reply.usage
    local used = usage.input + usage.cache_read + usage.cache_write + usage.output
    local share = math.floor(used * 100 / chat.window_size + 0.5)
    if share > 0 then
      add(("%d%% full"):format(share), share >= 80 and "ClaudeTranscriptWaiting" or nil)
    end
  end
  if chat.effort then
    add(chat.effort .. " effort")
  end
  local asks_nothing = chat.mode == "dontAsk" and chat.begin_with.alone -- a single question: it has nothing to ask for
  if chat.mode and chat.mode ~= "default" and not asks_nothing then
    add(chat.mode, chat.mode == "bypassPermissions" and "ClaudeTranscriptFailed" or "ClaudeTranscriptWaiting")
  end
  if chat.cost and chat.cost >= 0.005 then
    add(("$%.2f"):format(chat.cost))
  end
  return facts
end

return M
