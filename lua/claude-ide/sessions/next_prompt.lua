-- The user's reason for rejecting an edit becomes the CLI's next prompt, if the CLI runs in our terminal.
-- Invariant: the text is either typed into that prompt or saved to a register, which a notice names.
--
-- The CLI aborts its turn at a rejection (2.1.329); its record says "idle" once the prompt is ready. Nothing is typed before: a key
-- could answer a question of the CLI.
local M = {}

---Timeout of the abort. Measured: 40 to 300 ms, on a busy machine up to 3 s.
local PATIENCE_MS = 30000

---@class claude-ide.sessions.Words
---@field text string
---@field pid integer of the CLI
---@field client integer
---@field buf integer of the terminal
---@field since number Unix milliseconds: an earlier "idle" does not count

---@type claude-ide.sessions.Words?
local waiting
local timer ---@type uv.uv_timer_t?
local unsubscribe ---@type fun()?

---@param why string a sentence without its full stop
local function give_back(text, why)
  require("claude-ide.ui.kept_words").give_back(text, why)
end

local function stop()
  waiting = nil
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
  if unsubscribe then
    unsubscribe()
    unsubscribe = nil
  end
end

local function give_up(why)
  local reason = waiting
  stop()
  if reason then
    give_back(reason.text, why)
  end
end

local function is_idle(live, since)
  local state = live.state
  return state.activity == "idle" and state.source == "record" and (state.since or since) >= since
end

---@param reason claude-ide.sessions.Words
local function deliver(reason)
  local terminal, prompt = require("claude-ide.terminal"), require("claude-ide.terminal.prompt")
  stop()
  if terminal.bufnr() ~= reason.buf then
    give_back(reason.text, "Claude's terminal is gone")
  elseif prompt.has_draft(reason.buf) then
    give_back(reason.text, "You have begun to type at Claude's prompt")
  elseif not prompt.submit(reason.buf, reason.text) then
    give_back(reason.text, "Claude's terminal takes no words")
  elseif not terminal.is_visible() then
    require("claude-ide.ui.notice").info("Claude was told why.")
  end
end

local function look(live)
  local reason = waiting
  if not reason or live.pid ~= reason.pid then
    return
  elseif live.state.activity == "gone" then
    give_up("Claude has ended")
  elseif is_idle(live, reason.since) then
    deliver(reason)
  end
end

---@return { pid: integer, buf: integer }? target
---@return string? why not
local function target_of(client)
  local known = require("claude-ide.server").client(client)
  local sessions = require("claude-ide.sessions")
  sessions.attach()
  local live = require("claude-ide.terminal").session()
  local buf = require("claude-ide.terminal").bufnr()
  if known and live and buf and known.pid == live.pid then
    return { pid = live.pid, buf = buf }
  elseif buf and not live and sessions.problem() then
    return nil, "What Claude is doing cannot be seen"
  end
  return nil, "That Claude runs in another terminal"
end

---Why a text cannot be sent to a client now.
---@param client integer
---@return string? why nil: it can
function M.cannot_hear(client)
  local _, why = target_of(client)
  return why
end

---Sends the reason of a rejection to a client. Call it before the request is answered.
---@param client integer
---@param text string
function M.tell(client, text)
  local target, why = target_of(client)
  if not target then
    return give_back(text, why --[[@as string]])
  end
  if waiting and waiting.pid == target.pid then
    waiting.text = waiting.text .. "\n" .. text
    return
  end
  give_up("Claude was not ready")
  waiting = {
    text = text,
    pid = target.pid,
    client = client,
    buf = target.buf,
    since = require("claude-ide.clock").now(),
  }
  timer = assert(vim.uv.new_timer())
  timer:start(
    PATIENCE_MS,
    0,
    vim.schedule_wrap(function()
      give_up("Claude was not ready")
    end)
  )
  unsubscribe = require("claude-ide.bus").on("session_changed", function(change)
    look(change.session)
  end)
end

---Whether a text waits for a terminal's next prompt.
---@param buf integer
---@return boolean
function M.is_waiting(buf)
  return waiting ~= nil and waiting.buf == buf
end

---The client got a prompt: the user was faster.
---@param client integer
function M.prompt_submitted(client)
  if waiting and waiting.client == client then
    give_up("You were faster: Claude has a prompt of yours")
  end
end

return M
