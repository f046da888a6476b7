-- Facts in a chat's winbar, besides those of every transcript.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local limits = lazy("claude-ide.sessions.limits")

local M = {}

---@param retry claude-ide.chat.Retry
---@return string
function M.retry(retry)
  return ("%s in %d s"):format(retry.words, math.max(math.ceil((retry.at - vim.uv.now()) / 1000), 0))
end

---What the agent may do without asking. It comes first: it is dropped last, and never while it lets the agent do everything.
---@param chat claude-ide.chat.Chat
---@return claude-ide.transcript.Fact[]
local function permissions(chat)
  local facts, mode = {}, nil ---@type claude-ide.transcript.Fact[], claude-ide.transcript.Fact?
  for _, setting in ipairs(chat.settings) do
    if setting.kind == "mode" then
      local is_of_no_use = chat.mode == "dontAsk" and chat.begin_with.alone -- a single question has no permissions to request
      if chat.mode and chat.mode ~= "default" and not is_of_no_use then
        local group = setting.never_asks and "ClaudeTranscriptFailed" or "ClaudeTranscriptWaiting"
        mode = { chat.mode, group, stays = setting.never_asks }
      end
    elseif setting.never_asks then
      local value = setting.value == true and setting.name or tostring(setting.value)
      facts[#facts + 1] = { value, "ClaudeTranscriptFailed", stays = true }
    end
  end
  if mode then
    table.insert(facts, 1, mode)
  end
  return facts
end

---@param chat claude-ide.chat.Chat
---@return claude-ide.transcript.Fact[]
function M.of(chat)
  local facts = permissions(chat)
  local function add(text, group)
    facts[#facts + 1] = { text, group }
  end
  if chat.state == "ended" then
    add("ended", "ClaudeTranscriptFailed")
  elseif chat.state == "starting" then
    add("starting", "ClaudeTranscriptWorking")
  end
  local account = chat.account and chat.account.brief
  if account and chat.store:info().len == 0 then
    add("billed to " .. account)
  end
  if chat.doing then
    add(chat.doing, "ClaudeTranscriptWorking")
  end
  local limit = chat.limit and limits.words(chat.limit)
  if limit then
    add(limit, "ClaudeTranscriptFailed")
  end
  local running = vim.tbl_count(chat.tasks)
  if running > 0 then
    add(counted(running, "task"), "ClaudeTranscriptWorking")
  end
  local reply = chat.store:info().last_reply
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
  if chat.cost and chat.cost >= 0.005 then
    add(("$%.2f"):format(chat.cost))
  end
  return facts
end

return M
