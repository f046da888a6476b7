-- From what a person wrote to what the agent is told: prompts of the library are put in, what is named with `#` is read.
-- Invariant: what is said first reaches the agent first, however long something that it names takes to be read.
local M = {}

---@class claude-ide.chat.content.Waiting
---@field text string
---@field parts? claude-ide.context.Part[]
---@field done fun(ok?: boolean, err?: string)

---@type table<claude-ide.chat.Chat, claude-ide.chat.content.Waiting[]>
local waiting = setmetatable({}, { __mode = "k" })

---@param chat claude-ide.chat.Chat
local function say_those_that_are_ready(chat)
  local line = waiting[chat]
  while line[1] and line[1].parts do
    local first = table.remove(line, 1) --[[@as claude-ide.chat.content.Waiting]]
    local blocks = require("claude-ide.context").blocks(first.text, first.parts or {})
    if chat.acp then
      vim.list_extend(blocks, require("claude-ide.chat.acp.links").of(chat, first.text))
    end
    first.done(chat:say(first.text, blocks))
  end
end

---@param parts claude-ide.context.Part[]
---@return string? problem a picture that is not there is no prompt without one
local function problem_of(parts)
  for _, part in ipairs(parts) do
    if part.name == "image" and part.problem then
      return ("Not sent: %s."):format(part.problem)
    end
  end
end

---Says something to an agent.
---@param chat claude-ide.chat.Chat
---@param text string
---@param at? claude-ide.context.At where the person works
---@param done fun(ok?: boolean, err?: string) once, perhaps before this returns
function M.say(chat, text, at, done)
  local whole, problem = require("claude-ide.context.prompts").put_in(text, chat.cwd)
  if not whole then
    return done(nil, problem)
  end
  waiting[chat] = waiting[chat] or {}
  local one = { text = whole, done = done } ---@type claude-ide.chat.content.Waiting
  table.insert(waiting[chat], one)
  at = at or require("claude-ide.context.place").here(chat.cwd)
  require("claude-ide.context").expand(whole, at, function(parts)
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

return M
