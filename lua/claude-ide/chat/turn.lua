-- What an agent says of itself: how a turn ended, that it tries again, that it compacts; how the chat ended.
local M = {}

---@param self claude-ide.chat.Chat
---@param words string
local function note(self, words)
  self.store:put("notice", words)
end

---@param text any
---@return string?
local function text_of(text)
  return type(text) == "string" and vim.trim(text) ~= "" and vim.trim(text) or nil
end

---A longer text is not all blank.
local BLANK = 256

---Whether anything that can be read was said or done since the last prompt.
---@param store claude-ide.chat.Store
---@return boolean
local function is_answered(store)
  for at = #store.messages, 1, -1 do
    local message = store.messages[at]
    local block = message.block
    if message.kind == "prompt" then
      return false
    elseif message.kind ~= "reply" or block.type == "tool_use" then
      return true
    elseif block.type == "text" then
      local text = (block.bytes or 0) <= BLANK and require("claude-ide.chat.growing_text").text(message)
      if not text or vim.trim(text) ~= "" then
        return true
      end
    end
  end
  return true
end

---A turn is over. Judged by what it says of itself, not by its name: an error of the API is a "success", too.
---@param self claude-ide.chat.Chat
---@param about table
function M.over(self, about)
  self.store:settle()
  self.retry, self.doing = nil, nil
  self.cost = tonumber(about.total_cost_usd) or self.cost
  for _, usage in pairs(type(about.modelUsage) == "table" and about.modelUsage or {}) do
    self.window_size = tonumber(usage.contextWindow) or self.window_size
  end
  local reason = text_of(about.terminal_reason) or ""
  local last = self.store.messages[#self.store.messages]
  local is_said = last and (last.kind == "output" or last.kind == "notice" or last.kind == "interrupted")
  if about.is_error and not reason:find("^aborted") and not is_said then
    local errors = type(about.errors) == "table" and text_of(table.concat(about.errors, " ")) or nil
    note(self, text_of(about.result) or errors or "The turn failed.")
  elseif not is_answered(self.store) and not reason:find("^aborted") then
    note(self, self.name .. " ended its turn without a word.")
  end
  -- Those that came meanwhile begin a turn of their own at once, which is told.
  self.state = self.state ~= "ended" and "idle" or self.state
  require("claude-ide.chat.asks").turn_over(self)
  require("claude-ide.chat.record").turn_over(self)
  if self.acp then
    require("claude-ide.chat.acp").turn_over(self)
  end
  self.source:look_for_file()
end

---Lets the line above the chat count the seconds until the agent tries again.
---@param self claude-ide.chat.Chat
local function count_down(self)
  local retry = self.retry
  vim.defer_fn(function()
    if retry and self.retry == retry and self.state ~= "ended" then
      self:redraw()
      count_down(self)
    end
  end, 1000)
end

---@class claude-ide.chat.Retry
---@field attempt integer
---@field most integer
---@field at integer when, in milliseconds of `vim.uv.now()`
---@field status? integer of HTTP
---@field error? string

---@class claude-ide.chat.Task what runs in the background
---@field id string
---@field words string
---@field call? string that started it

---@type table<string, fun(self: claude-ide.chat.Chat, about: table)>
local STATUS = {}

function STATUS.api_retry(self, about)
  self.retry = {
    attempt = tonumber(about.attempt) or 1,
    most = tonumber(about.max_retries) or 0,
    at = vim.uv.now() + (tonumber(about.retry_delay_ms) or 0),
    status = tonumber(about.error_status),
    error = text_of(about.error),
  } --[[@as claude-ide.chat.Retry]]
  count_down(self)
end

---How near the account is to its limit; what is allowed needs no word.
function STATUS.rate_limit_event(self, about)
  local info = type(about.rate_limit_info) == "table" and about.rate_limit_info or {}
  self.limit = info.status ~= "allowed" and info.status and info or nil
end

local ENDS = { completed = true, failed = true, killed = true, stopped = true }

---@param self claude-ide.chat.Chat
---@param about table
---@param status any
local function task_over(self, about, status)
  local id = tostring(about.task_id)
  local call = about.tool_use_id or (self.tasks[id] or {}).call
  self.tasks[id] = nil
  if type(call) == "string" then
    self.store:background_over(call, status == "completed")
  end
end

function STATUS.task_started(self, about)
  local id = text_of(about.task_id)
  if id then
    local words = text_of(about.description) or text_of(about.prompt) or text_of(about.subagent_type)
    self.tasks[id] = { id = id, words = words or id, call = about.tool_use_id }
  end
end

function STATUS.task_updated(self, about)
  local patch = type(about.patch) == "table" and about.patch or about
  if ENDS[patch.status] then
    task_over(self, about, patch.status)
  end
end

function STATUS.task_notification(self, about)
  task_over(self, about, about.status)
end

function STATUS.status(self, about)
  self.doing = about.status == "compacting" and "compacting" or nil
  self.mode = text_of(about.permissionMode) or self.mode
end

function STATUS.compact_boundary(self)
  self.store:put("compaction", "")
end

---What was said before is no part of it any more. Which id it has is told when it begins; 2.1.329 names another one here.
function STATUS.conversation_reset(self, about)
  self.unanswered = {}
  self.begin_with.resume, self.begin_with.fork = nil, nil
  if text_of(about.new_conversation_id) then
    self:renew(about.new_conversation_id)
  end
end

function STATUS.commands_changed(self, about)
  self.commands = type(about.commands) == "table" and about.commands or self.commands
end

function STATUS.problem(self, about)
  note(self, text_of(about.text) or "Claude did not begin.")
end

---@param self claude-ide.chat.Chat
---@param subject string
---@param about table
function M.status(self, subject, about)
  local take = STATUS[subject]
  if self.acp and require("claude-ide.chat.acp").status(self, subject, about) then
    return
  elseif take then
    take(self, about)
  end
end

---How it ended, in a sentence.
---@param name string
---@param told claude-ide.chat.Told
---@return string
local function how(name, told)
  local words = text_of(told.words)
  if told.signal then
    return ("%s was ended by signal %d."):format(name, told.signal)
  elseif told.code == 0 then
    return name .. " ended."
  elseif told.code then
    return ("%s ended with code %d%s"):format(name, told.code, words and ": " .. words or ".")
  end
  return words or name .. " ended."
end

---@param self claude-ide.chat.Chat
---@param told claude-ide.chat.Told
function M.ended(self, told)
  self.store:settle()
  self.store:end_running()
  self.state, self.retry, self.doing, self.pid = "ended", nil, nil, nil
  self.tasks, self.taken_back = {}, {}
  self.refused, self.granted = {}, {} -- the next one may name its calls alike
  self.words = how(self.name, told)
  require("claude-ide.chat.record").ended(self)
  require("claude-ide.chat.asks").gone(self, ("that %s is gone"):format(self.name))
  local done = self.on_ended
  self.on_ended = nil
  if done then
    done()
  end
  -- What the user ends is not what nobody answered.
  local unanswered = self.closing and {} or self.unanswered
  local prompts = vim.list_extend(unanswered, self.queue)
  self.queue, self.unanswered = {}, {}
  -- Why it was ended is said already.
  local words = self.acp and self.acp.failed and "" or self.words
  if self.acp then
    require("claude-ide.chat.acp").ended(self)
  end
  local is_restart = self.restarting and not self.closing
  self.restarting = nil
  local is_returned = require("claude-ide.chat.content").return_all(self, prompts)
  local said_again = is_returned and "\nWhat was not answered is at the prompt again." or ""
  if is_restart then
    note(self, ("%s is started anew.%s"):format(self.name, said_again))
  elseif not self.closing then
    note(self, vim.trim(words .. said_again .. "\nWhat you send next starts it again."))
  end
  if is_restart then
    local ok, err = self:begin_again()
    if not ok then
      note(self, err or "It could not be started.")
    end
  end
end

return M
