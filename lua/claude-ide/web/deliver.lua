-- Takes what clients of the session server ask for: messages to sessions, decisions, replies to comments, interrupts.
-- Invariant: the library hands over one message per session at a time, and gets one result for it.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.web.comments")
local outbox = lazy("claude-ide.outbox")
local requests = lazy("claude-ide.web.requests")
local wake = lazy("claude-ide.library.wake")
local web_tell = lazy("claude-ide.web.tell")

local M = {}

local is_attached = false

---@param message table
local function tell(message)
  web_tell.tell(message)
end

---@type table<string, fun(ask: table)>
local ASKS = {}

function ASKS.deliver(ask)
  outbox.send({
    kind = "page",
    key = ask.key,
    session = ask.session,
    text = ask.text,
    command = ask.command,
    ran = ask.ran,
    given = function()
      tell({ given = { key = ask.key } })
    end,
    done = function(err, all)
      if err then
        tell({ failed = { key = ask.key, reason = err, all = all or false } })
      else
        tell({ sent = { key = ask.key } })
      end
    end,
  })
end

function ASKS.take_back(ask)
  local entry = outbox.find("page", ask.key)
  if entry and outbox.take_back(entry) then
    tell({ failed = { key = ask.key, reason = "cancelled", all = false } })
  end
end

function ASKS.decide(ask)
  requests.decide(ask)
end

function ASKS.comment(ask)
  comments.take(ask)
end

function ASKS.interrupt(ask)
  local err = outbox.interrupt(ask.session)
  tell({ done = { key = ask.key, error = err } })
end

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
