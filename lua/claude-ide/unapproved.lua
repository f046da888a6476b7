-- The unapproved-write warning: an agent changed a file without the user's approval, through a mode, a rule, a hook, or by itself. An
-- agent that writes files itself may only report its calls' places: the disk then shows whether they changed. What a CLI in a terminal was
-- allowed there is not reported: it has asked if it proposed an edit here, or its session waited for the user, before the change in that turn.
-- The answer may have allowed all edits, which the CLI (2.1.329) records with its next prompt.
-- Invariant: an approval in a chat covers the approved bytes, once.
local M = {}

---Modes in which edits need no approval.
local UNASKED = { acceptEdits = true, bypassPermissions = true, auto = true }
---Limit of files named in one warning.
local MOST_NAMED = 20
---The kernel's clock for file times lags by at most one tick.
local TICK_S = 0.02

---A turn's writes.
---@class claude-ide.unapproved.Writes
---@field began? number seconds since the epoch; nil: no turn yet
---@field approved table<string, { times: integer, stamp?: string }> by path: approved writes that no call has reported yet, and the file's state after the last
---@field absent table<string, true> files whose creation was denied

---@return claude-ide.unapproved.Writes
function M.none()
  return { approved = {}, absent = {} }
end

---Handles a turn's start, which may be late if Neovim was busy: the agent may have written already.
---@param chat claude-ide.chat.Chat
---@param at integer milliseconds since the epoch
function M.turn_begins(chat, at)
  chat.writes.began, chat.writes.absent = at / 1000, {}
end

---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  chat.writes.approved = {}
end

local function normal(path)
  return require("claude-ide.path").normalize(path)
end

---@param path string
---@return string? nil: no such file
local function stamp_of(path)
  return require("claude-ide.file").key_now(path)
end

---The user refused a change of a file: where there was none, there is to be none.
---@param chat claude-ide.chat.Chat
---@param path string
function M.refused(chat, path)
  chat.writes.absent[normal(path)] = stamp_of(path) == nil or nil
end

---A file was written as the user accepted it.
---@param chat claude-ide.chat.Chat
---@param path string
function M.approved(chat, path)
  path = normal(path)
  local before = chat.writes.approved[path]
  chat.writes.approved[path] = { times = (before and before.times or 0) + 1, stamp = stamp_of(path) }
end

---Whether a change is one that the user accepted.
---@param writes claude-ide.unapproved.Writes
---@param path string
---@return boolean
local function was_approved(writes, path)
  local approved = writes.approved[path]
  if not approved or approved.times == 0 then
    return false
  end
  approved.times = approved.times - 1
  return approved.stamp == stamp_of(path)
end

---Whether a file has changed since the turn began. A move keeps the modification time, so the change time counts.
---@param writes claude-ide.unapproved.Writes
---@param path string
---@param has_failed boolean
---@return boolean
local function was_touched(writes, path, has_failed)
  local stat = vim.uv.fs_stat(path)
  if not stat then
    return not has_failed and not writes.absent[path] -- deleted, or moved
  end
  return stat.type ~= "directory" and stat.ctime.sec + stat.ctime.nsec / 1e9 + TICK_S >= (writes.began or 0)
end

---The files that a call changed without leave.
---@param chat claude-ide.chat.Chat
---@param call string
---@param result claude-ide.sessions.ToolResult
---@param places string[] that it may have changed
---@return string[]
local function changed_by(chat, call, result, places)
  local outcome, was_granted = result.outcome, chat.unasked or chat.granted[call]
  local is_change = outcome and outcome.type == "file_change" and not result.is_error
  local claimed = outcome and is_change and normal(outcome.path --[[@as string]]) or nil
  -- A plan is the agent's own file: it may write that one while it plans.
  local is_plan = claimed and chat.mode == "plan" and claimed:find("/plans/[^/]+%.md$") ~= nil
  -- Gemini ends what the user refused with the turn, as if it were a change that was made: the disk says whether it was.
  local is_credible = not chat.refused[call]
  local paths, found = {}, {} ---@type table<string, true>, string[]
  for _, path in ipairs(vim.list_extend({ claimed }, places)) do
    if path:sub(1, 1) == "/" and not path:find("\0", 1, true) then
      paths[normal(path)] = true
    end
  end
  for path in pairs(paths) do
    if was_approved(chat.writes, path) then
      chat.granted[call] = chat.granted[call] or path == claimed or nil
    elseif not was_granted and not (is_plan and path == claimed) then
      local is_changed = path == claimed and is_credible or was_touched(chat.writes, path, result.is_error)
      found[#found + 1] = is_changed and path or nil
    end
  end
  table.sort(found)
  return found
end

---@param paths string[]
---@param mode? string
---@param is_cli boolean
---@return string words for the conversation
local function warn(paths, mode, is_cli)
  local name, were = vim.fs.basename(paths[1]), "was"
  if #paths > 1 then
    name, were = ("%s and %d more"):format(name, #paths - 1), "were"
  end
  require("claude-ide.ui.notice").warn({
    ("%s %s changed without asking you%s. `:Claude review` shows it."):format(
      name,
      were,
      is_cli and ": a rule or a hook allows it" or ""
    ),
    ("%s %s changed without asking you."):format(name, were),
  })
  local why = is_cli and ": a rule or a hook of Claude's allows it" or ""
  local lines = {}
  for at = 1, math.min(#paths, MOST_NAMED) do
    lines[at] = ("%s was changed without asking you%s."):format(paths[at], why)
  end
  if #paths > MOST_NAMED then
    lines[#lines + 1] = ("… and %d more files."):format(#paths - MOST_NAMED)
  end
  local words = table.concat(lines, "\n")
  require("claude-ide.log").warn("in mode %s: %s", mode or "default", words)
  return words
end

---Calls ended.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param places string[] that they may have changed
function M.results(chat, results, places)
  local paths = {}
  for _, pair in ipairs(results) do
    vim.list_extend(paths, changed_by(chat, pair[1], pair[2], places))
  end
  if #paths > 0 and not UNASKED[chat.mode or "default"] then
    chat.store:put("notice", warn(paths, chat.mode, chat.is_cli))
  end
end

---How much later than a change a question before it may be known.
local LATE_MS = 500

---A CLI in a terminal, in one turn.
---@class claude-ide.unapproved.Terminal
---@field began integer milliseconds since the epoch
---@field asked_at? integer its first question of this turn, in milliseconds since the epoch
---@field told table<string, true> files of this turn that were warned of

---@type table<integer, claude-ide.unapproved.Terminal> by client
local terminals = {}

local follow_waits = require("claude-ide.once")(function()
  require("claude-ide.bus").on("session_changed", function(change)
    local session = change.session
    for _, client in
      ipairs(session.state.activity == "waiting" and require("claude-ide.server").clients() or {})
    do
      if client.pid == session.pid then
        M.asked(client.id, session.state.since or require("claude-ide.clock").now())
      end
    end
  end)
  require("claude-ide.bus").on("client_disconnected", function(client)
    terminals[client.id] = nil
  end)
end)

---@param client integer
---@return claude-ide.unapproved.Terminal
local function terminal_of(client)
  follow_waits()
  terminals[client] = terminals[client] or { began = 0, told = {} }
  return terminals[client]
end

---A CLI asks the user, or proposes an edit.
---@param client integer
---@param at integer milliseconds since the epoch
function M.asked(client, at)
  local terminal = terminal_of(client)
  terminal.asked_at = math.min(terminal.asked_at or at, at)
end

---A CLI has a new prompt.
---@param client integer
function M.turn_started(client)
  follow_waits()
  terminals[client] = { began = require("claude-ide.clock").now(), told = {} }
end

---A call of a CLI in a terminal has changed a file. Without a record of its session, it is unknown whether it asked.
---@param client integer
---@param change claude-ide.sessions.ChangedFile
function M.wrote(client, change)
  local path, terminal = normal(change.path), terminal_of(client)
  local is_within = vim.iter(require("claude-ide.workspace").folders()):any(function(folder)
    return require("claude-ide.path").within(path, folder)
  end)
  if not is_within or (change["end"] or 0) < terminal.began then
    return -- of a turn whose questions are forgotten
  end
  -- The mode now: the user may change it before it is known whether the CLI has asked.
  require("claude-ide.sessions.mode").of_client(client, function(mode)
    if not mode or UNASKED[mode] then
      return
    end
    vim.defer_fn(function()
      if not terminal.told[path] and (terminal.asked_at or math.huge) > change["end"] then
        terminal.told[path] = true
        warn({ path }, mode, true)
      end
    end, LATE_MS)
  end)
end

return M
