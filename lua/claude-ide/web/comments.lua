-- Shows clients of the session server the threads of comments of each session, and takes their replies. Whose a thread is, and how it is
-- sent: outbox/comments.lua.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local comments = lazy("claude-ide.comments")
local comments_round = lazy("claude-ide.comments.round")
local outbox_comments = lazy("claude-ide.outbox.comments")
local receivers = lazy("claude-ide.outbox.receiver")
local store = lazy("claude-ide.comments.store")
local web_tell = lazy("claude-ide.web.tell")

local M = {}

---@class claude-ide.web.Thread
---@field id integer
---@field name string for clients
---@field waits boolean its comment is on its way
---@field problem? string why it was not sent

---@class claude-ide.web.Ask
---@field key integer
---@field session string
---@field thread string its name
---@field act "reply"|"send"|"resolve"|"reopen"
---@field words? string

---What clients know, by session.
---@type table<string, claude-ide.web.Thread[]>
local told = {}
---The worktrees of threads, by their names.
---@type table<string, string?>
local roots = {}
---The session that prompts go to, and with them new comments.
local current ---@type string?
local unsubscribe = {} ---@type fun()[]

---@return table<string, claude-ide.web.Thread[]> by session
local function all()
  local found = {} ---@type table<string, claude-ide.web.Thread[]>
  for root, sessions in vim.spairs(outbox_comments.by_session()) do
    for session, threads in pairs(store.for_page(root, sessions, comments.withheld(root))) do
      for _, thread in ipairs(threads) do
        thread.name = store.name(root, thread.id)
        thread.waits, thread.problem = comments_round.way_of(root, thread.id)
        roots[thread.name] = root
      end
      found[session] = vim.list_extend(found[session] or {}, threads)
    end
  end
  return found
end

local function look()
  current = receivers.current()
  roots = {}
  local before, now = told, all()
  told = now
  for session in pairs(before) do
    if not now[session] then
      web_tell.tell({ threads = { session = session } })
    end
  end
  for session, threads in pairs(now) do
    if not vim.deep_equal(threads, before[session]) then
      web_tell.tell({ threads = { session = session, threads = threads } })
    end
  end
end

---Several changes are told together.
local look_soon = require("claude-ide.base.soon")(function()
  if #unsubscribe > 0 then
    look()
  end
end)

---Does what a client asks for with a thread.
---@param ask claude-ide.web.Ask
---@return string? why not
function M.take(ask)
  local thread = vim.iter(told[ask.session] or {}):find(function(one)
    return one.name == ask.thread
  end) ---@type claude-ide.web.Thread?
  local root = thread and roots[thread.name]
  if not thread or not root then
    return "this comment is not there any more"
  end
  local _, err
  if ask.act == "resolve" or ask.act == "reopen" then
    _, err = store.change(root, { resolve = { id = thread.id, resolved = ask.act == "resolve" } })
  else
    _, err = outbox_comments.reply(ask.session, root, thread.id, ask.words)
  end
  return err
end

---Starts to show them.
function M.attach()
  if #unsubscribe == 0 then
    unsubscribe = {
      bus.on("comments_changed", look_soon),
      bus.on("outbox_changed", look_soon),
      bus.on("session_changed", function()
        if receivers.current() ~= current then
          look_soon()
        end
      end),
    }
  end
  look_soon()
end

function M.detach()
  for _, stop in ipairs(unsubscribe) do
    stop()
  end
  unsubscribe, told, roots = {}, {}, {}
end

return M
