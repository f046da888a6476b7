-- The user's reason for rejecting an edit becomes the CLI's next prompt, if the CLI runs in our terminal.
-- Invariant: the text is either typed into that prompt or saved to a register, which a notice names.
--
-- The CLI aborts its turn at a rejection (2.1.329); its record says "idle" once the prompt is ready. Nothing is typed before: a key
-- could answer a question of the CLI.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local prompt = lazy("claude-ide.terminal.prompt")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

---Timeout of the abort. Measured: 40 to 300 ms, on a busy machine up to 3 s.
local PATIENCE_MS = 30000

---@class claude-ide.sessions.RejectionReason
---@field text string
---@field pid integer of the CLI
---@field client integer
---@field terminal claude-ide.terminal.Session
---@field since number Unix milliseconds: an earlier "idle" does not count

---@type table<integer, claude-ide.sessions.RejectionReason> by the CLI's process
local waiting = {}
local unsubscribe ---@type fun()?

---@param why string a sentence without its full stop
local function give_back(text, why)
  kept_words.give_back(text, why)
end

---@param reason claude-ide.sessions.RejectionReason
---@return boolean stopped false: it has ended before
local function stop(reason)
  local is_waiting = waiting[reason.pid] == reason
  if is_waiting then
    waiting[reason.pid] = nil
  end
  if unsubscribe and not next(waiting) then
    unsubscribe()
    unsubscribe = nil
  end
  return is_waiting
end

---@param reason claude-ide.sessions.RejectionReason
local function give_up(reason, why)
  if stop(reason) then
    give_back(reason.text, why)
  end
end

local function is_idle(live, since)
  local state = live.state
  return state.activity == "idle" and state.source == "record" and (state.since or since) >= since
end

---@param reason claude-ide.sessions.RejectionReason
local function deliver(reason)
  local buf = reason.terminal:bufnr()
  stop(reason)
  if not buf then
    give_back(reason.text, "Claude's terminal is gone")
  elseif prompt.has_draft(buf) then
    give_back(reason.text, "You have begun to type at Claude's prompt")
  elseif not prompt.submit(buf, reason.text) then
    give_back(reason.text, "Claude's terminal does not accept input")
  elseif not reason.terminal:is_visible() then
    notice.info("Claude was told why.")
  end
end

local function look(live)
  local reason = waiting[live.pid]
  if not reason then
    return
  elseif live.state.activity == "gone" then
    give_up(reason, "Claude has ended")
  elseif is_idle(live, reason.since) then
    deliver(reason)
  end
end

---@param client integer
---@return claude-ide.terminal.Session? terminal
---@return integer|string pid of the CLI, or why there is no terminal
local function target_of(client)
  local known = server.client(client)
  sessions.attach()
  local terminal = terminals.of_process(known and known.pid)
  local live = terminal and terminal:live()
  if terminal and live then
    return terminal, live.pid
  elseif terminals.bufnr() and not live and sessions.problem() then
    return nil, "What Claude is doing cannot be seen"
  end
  return nil, "Claude runs in another terminal"
end

---Why a text cannot be sent to a client now.
---@param client integer
---@return string? why nil: it can
function M.cannot_hear(client)
  local terminal, why = target_of(client)
  return not terminal and why --[[@as string]] or nil
end

---Sends the reason of a rejection to a client. Call it before the request is answered.
---@param client integer
---@param text string
function M.tell(client, text)
  local terminal, pid = target_of(client)
  if not terminal then
    return give_back(text, pid --[[@as string]])
  end
  local before = waiting[pid]
  if before then
    before.text = before.text .. "\n" .. text
    return
  end
  ---@type claude-ide.sessions.RejectionReason
  local reason = {
    text = text,
    pid = pid --[[@as integer]],
    client = client,
    terminal = terminal,
    since = clock.now(),
  }
  waiting[reason.pid] = reason
  vim.defer_fn(function()
    give_up(reason, "Claude was not ready")
  end, PATIENCE_MS)
  unsubscribe = unsubscribe or bus.on("session_changed", function(change)
    look(change.session)
  end)
end

---Whether a text waits for a terminal's next prompt.
---@param buf integer
---@return boolean
function M.is_waiting(buf)
  return vim.iter(pairs(waiting)):any(function(_, reason)
    return reason.terminal:bufnr() == buf
  end)
end

---The client got a prompt: the user was faster.
---@param client integer
function M.prompt_submitted(client)
  for _, reason in pairs(vim.tbl_extend("force", {}, waiting)) do
    if reason.client == client then
      give_up(reason, "You have already sent another prompt")
    end
  end
end

return M
