-- Takes what clients of the session server ask for: messages to sessions, decisions, replies to comments, interrupts.
-- Invariant: the library hands over one message per session at a time, and gets one result for it.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.web.comments")
local log = lazy("claude-ide.base.log")
local outbox = lazy("claude-ide.outbox")
local requests = lazy("claude-ide.web.requests")
local wake = lazy("claude-ide.library.wake")
local web_tell = lazy("claude-ide.web.tell")

local M = {}

local is_attached = false

---@type table<string, fun(ask: table)>
local ASKS = {}

---Answers what is done at once.
---@param act fun(ask: table): err: string?
---@return fun(ask: table)
local function at_once(act)
  return function(ask)
    local ok, err = xpcall(act, debug.traceback, ask)
    if not ok then
      log.error("what a page asked for failed: %s", err)
      err = "this is a bug in claude-ide.nvim: `:Claude log` tells more"
    end
    web_tell.tell({ done = { key = ask.key, error = err } })
  end
end

function ASKS.deliver(ask)
  outbox.send({
    kind = "page",
    key = ask.key,
    session = ask.session,
    text = ask.text,
    command = ask.command,
    ran = ask.ran,
    given = function()
      web_tell.tell({ given = { key = ask.key } })
    end,
    done = function(err, all)
      if err then
        web_tell.tell({ failed = { key = ask.key, reason = err, all = all or false } })
      else
        web_tell.tell({ sent = { key = ask.key } })
      end
    end,
  })
end

function ASKS.take_back(ask)
  local entry = outbox.find("page", ask.key)
  if entry and outbox.take_back(entry) then
    web_tell.tell({ failed = { key = ask.key, reason = "cancelled", all = false } })
  end
end

ASKS.decide = at_once(function(ask)
  return requests.decide(ask)
end)

ASKS.comment = at_once(function(ask)
  return comments.take(ask)
end)

ASKS.interrupt = at_once(function(ask)
  return outbox.interrupt(ask.session)
end)

---Starts to handle clients' messages.
function M.attach()
  is_attached = true
  outbox.attach()
  wake.on({ "web_ask" }, function(event)
    local take = is_attached and ASKS[event.ask.type] -- not what was sent before the server stopped
    if take then
      take(event.ask)
    end
  end)
end

---Stops, and drops queued messages.
function M.detach()
  is_attached = false
  outbox.drop("page")
end

return M
