-- Why the person rejected an edit: it becomes the next prompt of the CLI that proposed it, if that one runs in our terminal.
-- Invariant: words that the person wrote are either typed into that prompt or kept in a register, and they are told where.
--
-- The CLI breaks its turn off at a rejection (2.1.329); its record says "idle" when the prompt is there. Until then a key
-- could answer a question of its own, so nothing is typed.
local M = {}

---How long a CLI may take to break off. Measured: 40 to 300 ms, on a busy machine up to 3 s.
local PATIENCE_MS = 30000

---@class claude-ide.diff.Reason
---@field text string
---@field pid integer of the CLI
---@field client integer
---@field buf integer of the terminal
---@field since number Unix milliseconds: an idle prompt from before is not the one to wait for

---@type claude-ide.diff.Reason?
local waiting
local timer ---@type uv.uv_timer_t?
local unsubscribe ---@type fun()?

---@return number Unix milliseconds
local function now()
  local seconds, micros = vim.uv.gettimeofday()
  return seconds * 1000 + math.floor(micros / 1000)
end

---@return boolean
local function has_clipboard()
  return vim.fn.has("clipboard") == 1
end

---@param clipboard boolean
---@return string
local function name_of(clipboard)
  return clipboard and "the clipboard" or 'register "'
end

---Keeps the words where the person can get at them.
---@param text string
---@return string where
local function keep(text)
  local lines = vim.split(text, "\n", { plain = true })
  vim.fn.setreg('"', lines, "c")
  return name_of(has_clipboard() and pcall(vim.fn.setreg, "+", lines, "c"))
end

---Keeps words that cannot be told, and says so.
---@param text string
---@param why string a sentence without its end
function M.give_back(text, why)
  if vim.trim(text) == "" then
    return
  end
  local where = keep(text)
  require("claude-ide.ui.notice").warn(require("claude-ide.ui.one_line").fitting({
    ("%s. Your words are in %s."):format(why, where),
    ("Not told: your words are in %s."):format(where),
  }))
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

---@param why string
local function give_up(why)
  local reason = waiting
  stop()
  if reason then
    M.give_back(reason.text, why)
  end
end

---@param live claude-ide.sessions.Live
---@param since number
---@return boolean
local function is_idle(live, since)
  local state = live.state
  return state.activity == "idle" and state.source == "record" and (state.since or since) >= since
end

---@param reason claude-ide.diff.Reason
local function deliver(reason)
  local terminal, prompt = require("claude-ide.terminal"), require("claude-ide.terminal.prompt")
  stop()
  if terminal.bufnr() ~= reason.buf then
    M.give_back(reason.text, "Claude's terminal is gone")
  elseif prompt.has_draft(reason.buf) then
    M.give_back(reason.text, "You have begun to type at Claude's prompt")
  elseif not prompt.submit(reason.buf, reason.text) then
    M.give_back(reason.text, "Claude's terminal takes no words")
  elseif not terminal.is_visible() then
    require("claude-ide.ui.notice").info("Claude was told why.")
  end
end

---@param live claude-ide.sessions.Live
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

---@param client integer
---@return { pid: integer, buf: integer }? target
---@return string? why not
local function target_of(client)
  local known = require("claude-ide.server").client(client)
  local sessions = require("claude-ide.sessions")
  sessions.attach()
  local live = sessions.of_terminal()
  local buf = require("claude-ide.terminal").bufnr()
  if known and live and buf and known.pid == live.pid then
    return { pid = live.pid, buf = buf }
  elseif buf and not live and sessions.problem() then
    return nil, "What Claude is doing cannot be seen"
  end
  return nil, "That Claude runs in another terminal"
end

---@param client integer
---@return string
local function question(client)
  local _, why = target_of(client)
  if not why then
    return "Why not? "
  end
  return require("claude-ide.ui.one_line").fitting({
    ("Why not? (%s: your words will be in %s) "):format(why, name_of(has_clipboard())),
    ("Why not? (goes to %s) "):format(name_of(has_clipboard())),
  })
end

---Asks the person why.
---@param diff claude-ide.Diff
---@param reject fun(reason: string) not called if they think better of it
function M.ask(diff, reject)
  vim.ui.input({ prompt = question(diff.client) }, function(text)
    if not text then
      return
    elseif diff.state ~= "pending" then
      -- It may have been answered in the CLI while the person wrote.
      M.give_back(text, "The diff is gone")
    else
      reject(text)
    end
  end)
end

---Sees to it that a client learns why its edit is rejected. Call before it is answered.
---@param client integer
---@param text string
function M.tell(client, text)
  local target, why = target_of(client)
  if not target then
    return M.give_back(text, why --[[@as string]])
  end
  if waiting and waiting.pid == target.pid then
    waiting.text = waiting.text .. "\n" .. text
    return
  end
  give_up("Claude was not ready")
  waiting = { text = text, pid = target.pid, client = client, buf = target.buf, since = now() }
  timer = assert(vim.uv.new_timer())
  timer:start(
    PATIENCE_MS,
    0,
    vim.schedule_wrap(function()
      give_up("Claude was not ready")
    end)
  )
  local sessions = require("claude-ide.sessions")
  unsubscribe = sessions.on(function(change)
    look(change.session)
  end)
end

---The client has taken a prompt: the person was faster.
---@param client integer
function M.prompt_submitted(client)
  if waiting and waiting.client == client then
    give_up("You were faster: Claude has a prompt of yours")
  end
end

return M
