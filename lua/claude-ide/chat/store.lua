-- A chat's own messages. They are kept and drawn by the library (`crates/agent/src/transcript`), like those of a session's file: the
-- agent's events enter there when they are taken (transport.lua); here the editor adds its own and reads them.

local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local position = lazy("claude-ide.base.position")

---@class claude-ide.chat.Store
---@field private number? integer of the library's transcript; nil: still empty
---@field private owner? userdata ends the transcript when the store is collected
---@field private listener? fun(change: claude-ide.chat.store.Change)
---@field private is_held? boolean changes are reported together, by `release`
local Store = {}
Store.__index = Store

---@class claude-ide.chat.store.Change
---@field appended? string the last text grew by this
---@field bytes? integer appended: of the whole text
---@field from? integer else rows: all from here on
---@field len? integer number of rows
---@field changed? integer[] rows before

local clock = require("claude-ide.base.clock")

---Messages from this id on are a chat's own.
Store.FIRST_ID = 2 ^ 31

---Texts of results are cut to these sizes.
local MAX_RESULT, MAX_SHOWN = 16 * 1024, 8 * 1024 * 1024

---@return claude-ide.chat.Store
function Store.new()
  return setmetatable({}, Store)
end

---The number of the library's transcript.
---@return integer
function Store:id()
  if not self.number then
    local number = native.chat_transcript_new()
    self.number, self.owner = number, newproxy(true)
    getmetatable(self.owner).__gc = function()
      native.chat_transcript_drop(number)
    end
  end
  return self.number
end

---@private
---@param request table|string see `crates/agent/src/transcript/request.rs`
---@return any
function Store:ask(request)
  local ok, json = pcall(vim.json.encode, request)
  local answer, err
  if ok then
    answer, err = native.chat_transcript(self:id(), clock.now(), json)
  end
  if not ok or err then
    log.error("a chat's transcript does not answer: %s", err or json)
  end
  return answer
end

---@private
---@param request table
function Store:change(request)
  self:ask(request)
  if not self.is_held then
    self:release()
  end
end

---@param listener? fun(change: claude-ide.chat.store.Change)
function Store:listen(listener)
  self.listener = nil
  self:release() -- the listener begins with what there is
  self.listener = listener
end

---Reports all changes from now on together, at the next `release`.
function Store:hold()
  self.is_held = true
end

---Reports changes.
function Store:release()
  self.is_held = nil
  local change = self.number and self:ask("change")
  while change do
    if self.listener then
      self.listener(change)
    end
    change = self:ask("change")
  end
end

---Adds a complete message: a prompt, a notice, a rule.
---@param kind claude-ide.sessions.RowKind
---@param text string
---@param images? claude-ide.sessions.Block[]
---@param uuid? string of a prompt
function Store:put(kind, text, images, uuid)
  text = position.valid(text)
  self:change({ put = { kind = kind, text = text, images = images, uuid = uuid } })
end

---Adds a prompt.
---@param prompt claude-ide.chat.Prompt
function Store:put_prompt(prompt)
  local images = {}
  for _, block in ipairs(prompt.content) do
    if block.type ~= "text" then
      local source = block.source or {}
      images[#images + 1] =
        { type = "image", media_type = source.media_type or "", encoded_bytes = #(source.data or "") }
    end
  end
  local kind = prompt.text:find("^/%w") and "command" or "prompt"
  self:put(kind, prompt.text, #images > 0 and images or nil, prompt.id)
end

---Appends to a text, as an agent's event does.
---@param block integer
---@param kind "text"|"thinking"
---@param text string
function Store:append(block, kind, text)
  self:change({ append = { block = block, kind = kind, text = text } })
end

---The status of a call that the user denied or changed, once it has ended.
---@param call string
---@param status "rejected"|"changed"
function Store:refuse(call, status)
  self:change({ refuse = { call = call, status = status } })
end

---Replaces a text of a call's result.
---@param call string
---@param part integer from 1
---@param text string
function Store:replace_result(call, part, text)
  self:change({ replace_result = { call = call, part = part - 1, text = text } })
end

---Learns the session's subagents.
---@param agents claude-ide.sessions.Agent[]
function Store:link(agents)
  local by_call = vim.empty_dict()
  for _, agent in ipairs(agents) do
    if agent.tool_use_id and not by_call[agent.tool_use_id] then
      by_call[agent.tool_use_id] = { agent_type = agent.agent_type, running = agent.running }
    end
  end
  self:change({ link = by_call })
end

---@return { len: integer, last_reply?: claude-ide.sessions.Row }
function Store:info()
  return self.number and self:ask("info") or { len = 0 }
end

---The user's prompts, oldest first.
---@return { uuid?: string, text: string }[] their beginnings
function Store:prompts()
  return self:ask("prompts") or {}
end

---The text of the last reply, after its last call.
---@return string
function Store:answer()
  return self:ask("answer") or ""
end

---@param from integer
---@param count integer
---@return claude-ide.sessions.Row[]
function Store:rows(from, count)
  return count > 0 and self.number and self:ask({ rows = { from = from, count = count } }) or {}
end

---@param ids integer[]
---@param all boolean long results, too
---@return claude-ide.sessions.Message[]
function Store:messages(ids, all)
  return #ids > 0 and self:ask({ messages = { ids = ids, max_result = all and MAX_SHOWN or MAX_RESULT } })
    or {}
end

---@param request claude-ide.transcript.DrawRequest
---@param above? claude-ide.sessions.Row the last visible row before the chat's own
---@return claude-ide.transcript.Drawn[]
function Store:draw(request, above)
  return self:ask({
    draw = { request = request, above = above and { kind = above.kind, called = #(above.tools or {}) > 0 } },
  }) or {}
end

return Store
