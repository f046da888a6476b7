-- Finds the session that a round of comments goes to: the one whose changes they are about. The user is asked if that is not the session
-- which prompts go to, or if it is not running.
local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local choose = lazy("claude-ide.ui.choose")
local phrases = lazy("claude-ide.sessions.phrases")
local route_to = lazy("claude-ide.outbox.route")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

local MAX_TITLE = 50

---@class claude-ide.outbox.Receiver
---@field session string
---@field route claude-ide.outbox.Route

---The session that prompts go to: that of the current terminal, or a chat's.
---@return string?
function M.current()
  sessions.attach()
  local live = terminals.session()
  local chats = package.loaded["claude-ide.chat"]
  local chat = type(chats) == "table" and chats.list()[1]
  return live and live.id or (chat and chat.session) or nil
end

---@param receivers claude-ide.outbox.Receiver[]
---@param done fun(titles: table<string, string>) by session
local function with_titles(receivers, done)
  catalogue.summaries({ all = true }, function(summaries)
    local by_id = {} ---@type table<string, claude-ide.sessions.Summary>
    for _, summary in ipairs(summaries or {}) do
      by_id[summary.id] = summary
    end
    local titles = {} ---@type table<string, string>
    for _, one in ipairs(receivers) do
      local live = one.route.live or catalogue.running(one.session)
      local named = live and live.name and live or by_id[one.session] or { id = one.session }
      titles[one.session] = phrases.fit(phrases.title(named), MAX_TITLE)
    end
    done(titles)
  end)
end

---@param receivers claude-ide.outbox.Receiver[]
---@param here? string
---@param done fun(receiver?: claude-ide.outbox.Receiver)
local function ask(receivers, here, done)
  with_titles(receivers, function(titles)
    choose.select(receivers, {
      prompt = "Which session gets the comments?",
      ---@param one claude-ide.outbox.Receiver
      format_item = function(one)
        local what = one.route.kind == "dead" and "resume" or one.session == here and "current" or "other"
        local why = one.session == here and "" or ", where the comments belong"
        return ("“%s” (%s%s)"):format(titles[one.session], what, why)
      end,
    }, function(one)
      done(one)
    end)
  end)
end

---@param wanted string[] the sessions that the comments are about
---@param done fun(receiver?: claude-ide.outbox.Receiver, why?: string) called once, perhaps later; without a reason if the user chooses none
function M.find(wanted, done)
  local here, receivers, problem = M.current(), {}, nil ---@type string?, claude-ide.outbox.Receiver[], string?
  local ids = vim.list_extend({}, wanted)
  if here and not vim.list_contains(wanted, here) then
    ids[#ids + 1] = here
  end
  for _, id in ipairs(ids) do
    local route, why = route_to.of(id)
    problem = problem or why
    if route then
      receivers[#receivers + 1] = { session = id, route = route }
    end
  end
  local only = receivers[1]
  if not only then
    done(nil, problem or "Claude is not running: `:Claude` starts it")
  elseif only.session == here and not ids[2] then
    done(only)
  else
    ask(receivers, here, done)
  end
end

return M
