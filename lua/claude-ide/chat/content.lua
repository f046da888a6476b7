-- Turns the user's text into the agent's prompt: inserts library prompts, and reads `#` references.
-- Invariants: prompts reach the agent in the order of sending, however long their references take; and only the process that they were
-- sent to.
local lazy = require("claude-ide.lazy")
local context = lazy("claude-ide.context")
local context_prompts = lazy("claude-ide.context.prompts")
local links = lazy("claude-ide.chat.acp.links")
local place = lazy("claude-ide.context.place")

local M = {}

---@class claude-ide.chat.content.Waiting
---@field written string by the user
---@field text string with library prompts inserted
---@field parts? claude-ide.context.Part[]
---@field is_over? boolean cancelled
---@field done fun(ok?: boolean, err?: string)

---@type table<claude-ide.chat.Chat, claude-ide.chat.content.Waiting[]> of those for which prompts wait
local waiting = {}

---@param chat claude-ide.chat.Chat
local function say_those_that_are_ready(chat)
  local line = waiting[chat] or {}
  while line[1] and line[1].parts do
    local first = table.remove(line, 1) --[[@as claude-ide.chat.content.Waiting]]
    local blocks = context.blocks(first.text, first.parts or {})
    if not chat.can.find_files then -- nor does it read those that are named with `@`
      vim.list_extend(blocks, links.of(chat, first.text))
    end
    first.done(chat:say(first.text, blocks))
  end
  if not line[1] and waiting[chat] == line then
    waiting[chat] = nil
  end
end

---@param parts claude-ide.context.Part[]
---@return string? problem a missing image prevents sending
local function problem_of(parts)
  for _, part in ipairs(parts) do
    if part.name == "image" and part.problem then
      return ("Not sent: %s."):format(part.problem)
    end
  end
end

---Sends a prompt.
---@param chat claude-ide.chat.Chat
---@param text string
---@param at? claude-ide.context.At the user's position
---@param done fun(ok?: boolean, err?: string) called once, perhaps before this returns; not if the text is returned to the prompt
function M.say(chat, text, at, done)
  local whole, problem = context_prompts.expand(text, chat.cwd)
  if not whole then
    return done(nil, problem)
  end
  waiting[chat] = waiting[chat] or {}
  local one = { written = text, text = whole, done = done } ---@type claude-ide.chat.content.Waiting
  table.insert(waiting[chat], one)
  at = at or place.here(chat.cwd)
  context.expand(whole, at, function(parts)
    if one.is_over then
      return
    end
    local missing = problem_of(parts)
    if missing then
      for i, other in ipairs(waiting[chat]) do
        if other == one then
          table.remove(waiting[chat], i)
          break
        end
      end
      done(nil, missing)
    else
      one.parts = parts
    end
    say_those_that_are_ready(chat)
  end)
end

---Returns the texts to the user when the agent is gone: unanswered prompts first, then unsent ones.
---@param chat claude-ide.chat.Chat
---@param prompts claude-ide.chat.Prompt[] sent
---@return boolean whether a text was returned
function M.return_all(chat, prompts)
  local line = waiting[chat] or {}
  waiting[chat] = nil
  local texts = {} ---@type string[]
  for _, prompt in ipairs(prompts) do
    texts[#texts + 1] = prompt.text
  end
  for _, one in ipairs(line) do
    one.is_over = true
    texts[#texts + 1] = one.written
    if not chat.give_back then
      one.done(nil, chat.words)
    end
  end
  if not texts[1] or not chat.give_back then
    return false
  end
  -- As one text: if the prompt is gone, a register keeps it.
  chat.give_back(table.concat(texts, "\n\n"))
  return true
end

return M
