-- Writes that the user has accepted and that an agent has yet to make. Of each there are two questions. Does the file have it? The file is
-- watched for a while; until then its changes are no conflict, and Neovim does not prompt. And what became of the call? A chat reports
-- that over its pipe, a CLI only in its transcript, a moment later.
-- Invariants: a refusal is only reported if the call failed, or its agent is gone, and the file does not have the accepted text. The text
-- alone proves nothing: formatters, later edits and merged lines change it. A failed call in a transcript, which does not name the diff, is
-- that of the last write of its file that was expected before the call ended, and is reported once.
-- Not here: that the accepted text counts as reviewed whenever it turns up (the journal attributes it, `accepted` in crates/edits), and
-- what an agent may have the editor write without asking again (chat/acp/files.lua).
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local clock = lazy("claude-ide.base.clock")
local file = lazy("claude-ide.base.file")
local files = lazy("claude-ide.edits.watch.files")
local log = lazy("claude-ide.base.log")
local paths = lazy("claude-ide.base.path")
local timers = lazy("claude-ide.base.timer")
local waits = lazy("claude-ide.base.waits")

local M = {}

local DEADLINE_MS = 10000

---A file that changed to other contents than accepted (another encoding, a formatter) counts as written when it has not changed for this
---long.
local STEADY_MS = 300

---Larger than any message.
local MAX_BYTES = 256 * 1024 * 1024

---Limit of unknown results, since some agents report none: the oldest are given up.
local MAX_UNREPORTED = 64

---Reason for an agent that is gone.
local GONE = "it ended before it did"

---@class claude-ide.watch.Expected
---@field path string absolute
---@field contents string accepted
---@field before { bytes?: string, stat?: uv.fs_stat.result } the file at that time
---@field requester claude-ide.requests.Requester
---@field call? string the requester reports its result
---@field arrived fun(bytes: string) called when the watched file was written, with these contents or others
---@field refused fun(words: string, is_there: boolean, was_watched: boolean) words: the tool's error; is_there: there is such a file

---@class claude-ide.watch.Watching
---@field timer claude-ide.Timer
---@field unfollow fun()
---@field deadline integer
---@field seen? string the file's current state, if its contents are others

---@class claude-ide.watch.ExpectedWrite: claude-ide.watch.Expected
---@field package at integer milliseconds since the epoch
---@field package till? integer end of its client's turn
---@field package watching? claude-ide.watch.Watching
---@field package is_unreported boolean its call may still be reported
---@field package is_checked? boolean its call is reported as failed, and the file being checked

---Those with an open question, oldest first.
---@type claude-ide.watch.ExpectedWrite[]
local expected = {}

---@param one claude-ide.watch.ExpectedWrite
local function drop_if_known(one)
  if not one.watching and not one.is_unreported then
    expected = vim.tbl_filter(function(other)
      return other ~= one
    end, expected)
  end
end

---@param one claude-ide.watch.ExpectedWrite
local function result_known(one)
  one.is_unreported = false
  drop_if_known(one)
end

---@param path string
local function group_of(path)
  return "claude-ide.watch.expected_write " .. path
end

---@param one claude-ide.watch.ExpectedWrite
---@return boolean was_watched
local function stop_watching(one)
  local watching = one.watching
  if not watching then
    return false
  end
  one.watching = nil
  watching.timer:stop()
  watching.unfollow()
  pcall(vim.api.nvim_del_augroup_by_name, group_of(one.path))
  drop_if_known(one)
  return true
end

---@param one claude-ide.watch.ExpectedWrite
---@param bytes string
local function arrive(one, bytes)
  stop_watching(one)
  if buffer_bytes.same_text(bytes, one.contents) then
    result_known(one)
  end
  one.arrived(bytes)
end

local look ---@type fun(one: claude-ide.watch.ExpectedWrite, is_steady: boolean)

---@param one claude-ide.watch.ExpectedWrite
---@param watching claude-ide.watch.Watching
---@param milliseconds number
local function look_again(one, watching, milliseconds)
  watching.timer:start(milliseconds, function()
    look(one, true)
  end)
end

---@param one claude-ide.watch.ExpectedWrite
---@param is_steady boolean the file has not changed for `STEADY_MS`
---@param bytes? string
---@param stat? uv.fs_stat.result
local function judge(one, is_steady, bytes, stat)
  local watching, now = one.watching, file.key(stat)
  if not watching then
    return
  end
  local is_written = bytes ~= nil and buffer_bytes.same_text(bytes, one.contents)
  local is_another = bytes ~= nil and now ~= file.key(one.before.stat)
  if waits.is_command_pending() and (is_written or is_another) then
    waits.when_text_may_change("expected write " .. one.path, function()
      look(one, is_steady)
    end)
  elseif bytes and (is_written or is_another and is_steady and now == watching.seen) then
    arrive(one, bytes)
  elseif vim.uv.now() >= watching.deadline then
    log.warn("%s was accepted but not written", one.path)
    stop_watching(one)
  else
    watching.seen = now
    look_again(one, watching, is_another and STEADY_MS or watching.deadline - vim.uv.now())
  end
end

---@param one claude-ide.watch.ExpectedWrite
---@param is_steady boolean
function look(one, is_steady)
  file.read_later(one.path, MAX_BYTES, function(bytes, _, stat)
    judge(one, is_steady, bytes, stat)
  end)
end

---Suppresses Neovim's "file has changed" prompt until the file is written.
---@param path string
local function hush(path)
  local buf = buffer.find(path)
  if buf then
    vim.api.nvim_create_autocmd("FileChangedShell", {
      group = vim.api.nvim_create_augroup(group_of(path), { clear = true }),
      buffer = buf,
      desc = "Claude Code: note that an accepted change is being written",
      callback = function()
        vim.v.fcs_choice = ""
      end,
    })
  end
end

---@param is_it fun(path: string): boolean?
---@return claude-ide.watch.ExpectedWrite? watched
local function find_watched(is_it)
  return vim.iter(expected):find(function(one)
    return one.watching ~= nil and is_it(one.path)
  end)
end

---@return claude-ide.watch.ExpectedWrite[] unreported oldest first
local function unreported()
  return vim.tbl_filter(function(one)
    return one.is_unreported
  end, expected)
end

---Expects the write of an accepted edit. Call before the requester is answered, and `watch` afterwards.
---@param one claude-ide.watch.Expected
---@return claude-ide.watch.ExpectedWrite
function M.expect(one)
  ---@cast one claude-ide.watch.ExpectedWrite
  local requester = one.requester
  one.at = clock.now()
  one.is_unreported = requester.writes == "agent" and (one.call or requester.client) ~= nil
  if one.is_unreported then
    expected[#expected + 1] = one
    local all = unreported()
    if #all > MAX_UNREPORTED then
      result_known(all[1])
    end
  end
  return one
end

---Watches the file until it is written. Of one path only the last write is watched.
---@param one claude-ide.watch.ExpectedWrite
function M.watch(one)
  local path = one.path
  local previous = find_watched(function(other)
    return other == path
  end)
  if previous then
    stop_watching(previous)
  end
  if not vim.list_contains(expected, one) then
    expected[#expected + 1] = one
  end
  hush(path)
  one.watching = {
    timer = timers.new("look for an accepted edit"),
    deadline = vim.uv.now() + DEADLINE_MS,
    unfollow = files.follow(path, function()
      look(one, false)
    end),
  }
  look(one, false)
end

---Handles a file's contents that other code has just read.
---@param path string
---@param bytes? string
function M.observed(path, bytes)
  local one = find_watched(function(other)
    return other == path
  end)
  if one and bytes == one.contents then
    arrive(one, bytes)
  end
end

---Whether a write of a file is watched for, under any of its names.
---@param path string absolute
---@return boolean
function M.includes(path)
  if #expected == 0 then
    return false
  end
  local real = paths.real(path)
  return find_watched(function(other)
    return other == path or paths.real(other) == real
  end) ~= nil
end

---Handles a report that nothing was written: checks the file.
---@param one claude-ide.watch.ExpectedWrite
---@param words string of the report
---@param is_guess? boolean it only counts if the file is exactly as before
local function refuse(one, words, is_guess)
  if one.is_checked then
    return
  end
  one.is_checked = true
  file.read_later(one.path, MAX_BYTES, function(bytes, why_not, stat)
    result_known(one)
    local is_read = bytes ~= nil or why_not == "missing"
    if
      bytes and buffer_bytes.same_text(bytes, one.contents)
      or is_guess and not (is_read and bytes == one.before.bytes)
    then
      return
    end
    log.warn("%s was accepted and not written: %s", one.path, words)
    one.refused(words, stat ~= nil, stop_watching(one))
  end)
end

---@param result? claude-ide.sessions.ToolResult
---@return string
local function words_of(result)
  local words = {}
  for _, part in ipairs(result and result.content or {}) do
    words[#words + 1] = part.text
  end
  return table.concat(words, " ")
end

---A requester's call has ended.
---@param requester claude-ide.requests.Requester
---@param call string
---@param result claude-ide.sessions.ToolResult
function M.call_ended(requester, call, result)
  local one = vim.iter(unreported()):find(function(other)
    return other.requester == requester and other.call == call
  end)
  if one and result.is_error then
    refuse(one, words_of(result))
  elseif one then
    result_known(one)
  end
end

---A requester that reports its calls is gone: it will write nothing more.
---@param requester claude-ide.requests.Requester
function M.requester_gone(requester)
  for _, one in ipairs(unreported()) do
    if one.requester == requester then
      refuse(one, GONE)
    end
  end
end

---@param client integer
---@return claude-ide.watch.ExpectedWrite[] unreported oldest first
local function of_client(client)
  return vim.tbl_filter(function(one)
    return one.requester.client == client and not one.is_checked
  end, unreported())
end

---Handles a call in a client's transcript that changed a file. The report is late, so writes expected since the call ended stay open.
---@param client integer
---@param path string
---@param ended? integer milliseconds since the epoch
function M.written(client, path, ended)
  for _, one in ipairs(of_client(client)) do
    if one.path == path and (not ended or one.at <= ended) then
      result_known(one)
    end
  end
end

---Handles a call in a client's transcript that did not change a file.
---@param client integer
---@param path string
---@param call claude-ide.sessions.EndedCall
function M.failed(client, path, call)
  local ended = call["end"] or 0
  local one = vim.iter(of_client(client)):rev():find(function(other)
    return other.path == path and other.at <= ended and (not other.till or ended <= other.till)
  end)
  if one and call.status == "failed" then
    refuse(one, call.failure and call.failure.words or "")
  elseif one then
    result_known(one) -- the user knows of calls they stopped
  end
end

---Ends a client's turn at the next prompt: calls that end later belong to the next one.
---@param client integer
---@param at? integer milliseconds since the epoch; default: now
function M.turn_over(client, at)
  for _, one in ipairs(of_client(client)) do
    one.till = one.till or at or clock.now()
  end
end

---Handles a client's exit.
---@param client integer
function M.client_gone(client)
  for _, one in ipairs(of_client(client)) do
    if one.till then
      result_known(one) -- a failure in an earlier turn would have been reported already
    else
      refuse(one, GONE, true)
    end
  end
end

---Number of writes that are not known to be made, of requesters that report them.
---@return integer
function M.count()
  return #unreported()
end

return M
