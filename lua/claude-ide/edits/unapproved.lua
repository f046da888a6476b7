-- The unapproved-write warning: an agent changed a file without the user's approval, through a rule, a hook, or by itself. An agent that
-- writes files itself may only report its calls' places: the disk then shows whether they changed. For a CLI in a terminal, the transcript
-- tells what allowed each call, also a subagent's.
-- Invariants: an approval in a chat covers the approved bytes, once. No warning in doubt, and none for a CLI whose transcripts lack this.
-- Of a shell command only the time is known: the warning says that, and blames nobody.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local counted = lazy("claude-ide.base.counted")
local file = lazy("claude-ide.base.file")
local ide_path = lazy("claude-ide.base.path")
local listed = lazy("claude-ide.base.listed")
local log = lazy("claude-ide.base.log")
local modes = lazy("claude-ide.sessions.modes")
local notice = lazy("claude-ide.base.notice")
local rules = lazy("claude-ide.sessions.rules")
local server = lazy("claude-ide.server")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Limit of files named in one warning.
local MOST_NAMED = 20

---What the user decided on a chat's writes.
---@class claude-ide.unapproved.Writes
---@field approved table<string, { times: integer, stamp?: string }> by path: approved writes that no call has reported yet, and the file's state after the last
---@field absent table<string, true> files whose creation was denied in this turn

---@return claude-ide.unapproved.Writes
function M.none()
  return { approved = {}, absent = {} }
end

---@param chat claude-ide.chat.Chat
function M.turn_begins(chat)
  chat.writes.absent = {}
end

---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  chat.writes.approved = {}
end

---The user refused a change of a file: where there was none, there is to be none.
---@param chat claude-ide.chat.Chat
---@param path string
function M.refused(chat, path)
  chat.writes.absent[ide_path.normalize(path)] = file.key_now(path) == nil or nil
end

---A file was written as the user accepted it.
---@param chat claude-ide.chat.Chat
---@param path string
function M.approved(chat, path)
  path = ide_path.normalize(path)
  local before = chat.writes.approved[path]
  chat.writes.approved[path] = { times = (before and before.times or 0) + 1, stamp = file.key_now(path) }
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
  return approved.stamp == file.key_now(path)
end

---Whether a file has changed since the turn began. A move keeps the modification time, so the change time counts.
---@param writes claude-ide.unapproved.Writes
---@param path string
---@param began integer when the turn did
---@param has_failed boolean
---@return boolean
local function was_touched(writes, path, began, has_failed)
  local stat = vim.uv.fs_stat(path)
  if not stat then
    return not has_failed and not writes.absent[path] -- deleted, or moved
  end
  return stat.type ~= "directory" and file.changed_at(stat) + file.TICK_MS >= began
end

---The files that a call changed without leave.
---@param chat claude-ide.chat.Chat
---@param call string
---@param result claude-ide.sessions.ToolResult
---@param places string[] that it may have changed
---@param began integer when the turn did
---@return string[]
local function changed_by(chat, call, result, places, began)
  local outcome, was_granted = result.outcome, chat.unasked or chat.granted[call]
  local is_change = outcome and outcome.type == "file_change" and not result.is_error
  local claimed = outcome and is_change and ide_path.normalize(outcome.path --[[@as string]]) or nil
  -- A plan is the agent's own file: it may write that one while it plans.
  local is_plan = claimed and chat.mode == "plan" and claimed:find("/plans/[^/]+%.md$") ~= nil
  -- What a call says that it changed counts only if the disk shows it: Gemini ends what the user refused with the turn, and others end a
  -- call with a diff that they only showed.
  local paths, found = {}, {} ---@type table<string, true>, string[]
  for _, path in ipairs(vim.list_extend({ claimed }, places)) do
    if path:sub(1, 1) == "/" and not path:find("\0", 1, true) then
      paths[ide_path.normalize(path)] = true
    end
  end
  for path in pairs(paths) do
    if was_approved(chat.writes, path) then
      chat.granted[call] = chat.granted[call] or path == claimed or nil
    elseif not was_granted and not (is_plan and path == claimed) then
      found[#found + 1] = was_touched(chat.writes, path, began, result.is_error) and path or nil
    end
  end
  table.sort(found)
  return found
end

---@param paths string[]
---@param why? string what let it change them
---@param command? string that ran unasked when they changed: nothing else is known of who it was
---@return string words for the conversation
local function warn(paths, why, command)
  why = why and ": " .. why or ""
  local name, were = listed(vim.tbl_map(vim.fs.basename, paths), 1), #paths > 1 and "were" or "was"
  local happened = command and ("changed while `%s` ran without asking you"):format(command) or nil
  local changed = ("%s %s"):format(name, happened or were .. " changed without asking you")
  local review = notice.way_to("review")
  notice.warn({
    ("%s%s. %s shows it."):format(changed, why, review),
    ("%s. %s shows it."):format(changed, review),
    changed .. ".",
  })
  local lines = {}
  for at = 1, math.min(#paths, MOST_NAMED) do
    lines[at] = ("%s %s%s."):format(paths[at], happened or "was changed without asking you", why)
  end
  if #paths > MOST_NAMED then
    lines[#lines + 1] = "… and " .. counted(#paths - MOST_NAMED, "more file") .. "."
  end
  local words = table.concat(lines, "\n")
  log.warn("%s", words)
  return words
end

---What let a call run, if it was not the user's answer.
---@type table<string, string> by `claude-ide.sessions.AllowedBy`
local ALLOWS = {
  user = "one of your rules allows it",
  project = "a rule of the project allows it",
  rule = "a rule allows it",
  hook = "a hook allows it",
  mode = "its permission mode allowed it",
}

---Calls ended.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param places string[] that they may have changed
---@param began integer when the turn did, in milliseconds since the epoch
function M.results(chat, results, places, began)
  local found = {} ---@type { why?: string, paths: string[] }[]
  for _, pair in ipairs(results) do
    local paths, last = changed_by(chat, pair[1], pair[2], places, began), found[#found]
    -- Older CLIs do not say which.
    local why = chat.is_cli and (ALLOWS[pair[2].allowed_by or ""] or "a rule or a hook allows it") or nil
    if last and last.why == why then
      vim.list_extend(last.paths, paths)
    elseif #paths > 0 then
      found[#found + 1] = { why = why, paths = paths }
    end
  end
  for _, one in ipairs(modes.UNASKED[chat.mode or "default"] and {} or found) do
    chat.store:put("notice", warn(one.paths, one.why))
  end
end

-- ── CLIs in terminals ──

---What else than the user and their mode let an edit be made.
local OTHERS = { project = ALLOWS.project, hook = ALLOWS.hook }
---Calls of a client that are remembered.
local MAX_CALLS = 200
---How much later than a change the transcript may tell of the call.
local LATE_MS = 1000

---A CLI in a terminal.
---@class claude-ide.unapproved.Terminal
---@field turn? integer
---@field told table<string, true> files of this turn that were warned of
---@field calls claude-ide.sessions.EndedCall[] that changed a file, or of which is known what let them run; latest last

---@type table<integer, claude-ide.unapproved.Terminal> by client
local terminals = {}

local forget_leavers = require("claude-ide.base.once")(function()
  bus.on("client_disconnected", function(client)
    terminals[client.id] = nil
  end)
end)

---@param client integer
---@return claude-ide.unapproved.Terminal
local function terminal_of(client)
  forget_leavers()
  terminals[client] = terminals[client] or { told = {}, calls = {} }
  return terminals[client]
end

---Warns of a file in the workspace, once a turn, if the session's mode is known and asks: the CLI names a rule also where the mode allows it.
---@param client integer
---@param turn? integer
---@param path string
---@param why? string
---@param command? string
local function warn_once(client, turn, path, why, command)
  local is_within = vim.iter(workspace.folders()):any(function(folder)
    return ide_path.within(path, folder)
  end)
  local terminal = terminals[client]
  if not is_within or not terminal then
    return
  elseif terminal.turn ~= turn then
    terminal.turn, terminal.told = turn, {}
  end
  local told = terminal.told
  modes.of_client(client, function(mode)
    if mode and not modes.UNASKED[mode] and not told[path] then
      told[path] = true
      warn({ path }, why, command)
    end
  end)
end

---Calls of a CLI in a terminal, or of its subagents, ended.
---@param client integer
---@param turn? integer its last one
---@param calls claude-ide.sessions.EndedCall[]
function M.ended(client, turn, calls)
  if not server.client(client) then
    return -- it has left, or is none of the server's
  end
  local terminal = terminal_of(client)
  for _, call in ipairs(calls) do
    local change, why = call.change, OTHERS[call.allowed_by]
    if change and why then
      warn_once(client, turn, ide_path.normalize(change.path), why)
    end
    terminal.calls[#terminal.calls + 1] = (change or call.allowed_by) and call or nil
  end
  while #terminal.calls > MAX_CALLS do
    table.remove(terminal.calls, 1)
  end
end

---Programs that write no file.
---@type table<string, true>
local WRITES_NOTHING = {}
for name in
  ("[ basename cat cd date dirname echo false file grep head id ls printf ps pwd rg sleep stat tail test true uname wait wc which whoami"):gmatch(
    "%S+"
  )
do
  WRITES_NOTHING[name] = true
end

---@param command string
---@return boolean whether it certainly writes no file
local function writes_nothing(command)
  if command:find("[>`]") or command:find("$(", 1, true) or command:find("<(", 1, true) then
    return false
  end
  for part in command:gmatch("[^;|&\n]+") do
    local name = part:match("^%s*(%S+)")
    if name and not WRITES_NOTHING[name] then
      return false
    end
  end
  return true
end

---The shell command that ran when a file changed, and no other call. None if a call of that turn that others allowed may go on in the
---background.
---@param terminal claude-ide.unapproved.Terminal
---@param began number start of the turn
---@param at number milliseconds since the epoch
---@return string?
local function command_at(terminal, began, at)
  local command ---@type string?
  for _, call in ipairs(terminal.calls) do
    local start, over = call.start or 0, call["end"] or 0
    if start - file.TICK_MS <= at and at <= over + file.TICK_MS then
      if not call.command or command then
        return nil
      end
      command = call.command
    elseif call.allowed_by ~= "cli" and not call.change and began <= over and start <= at then
      return nil
    end
  end
  return command
end

---A file differs from the turn's start, and it is not known why: warns if a shell command changed it that ran unasked, and by no rule.
---@param client integer
---@param turn? claude-ide.journal.Turn nil: it is forgotten
---@param path string
function M.found(client, turn, path)
  local terminal, stat = terminals[client], vim.uv.fs_stat(path)
  if not terminal or not stat or not turn then
    return
  end
  local began, at = turn.began, file.changed_at(stat)
  if at + file.TICK_MS < began then
    return -- it changed in an earlier turn
  end
  vim.defer_fn(function()
    local command = command_at(terminal, began, at)
    if command and not writes_nothing(command) then
      rules.may_allow(client, command, function(may)
        if not may then
          warn_once(client, turn.id, ide_path.normalize(path), nil, command)
        end
      end)
    end
  end, LATE_MS)
end

return M
