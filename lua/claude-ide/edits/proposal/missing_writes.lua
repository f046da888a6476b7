-- Accepted edits that their requester then does not write: the CLI's tool checks the file again, and fails if it has changed since it was
-- read. Notifies the user and keeps their edits.
-- Invariant: a failure is only reported if the tool reports one and the file does not have the accepted text: formatters, later edits
-- and merged lines change the text without a failure. If the requester is gone, the file must be exactly as before.
local lazy = require("claude-ide.lazy")
local awaited = lazy("claude-ide.edits.watch.awaited")
local buffer = lazy("claude-ide.editor.buffer")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local conflict = lazy("claude-ide.edits.watch.conflict")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local journal = lazy("claude-ide.edits.journal")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")

local M = {}

---Reason for a requester that is gone.
local GONE = "it ended before it did"

---Limit of pending edits: for a requester without reports the oldest are dropped.
local MAX_WAITING = 64

---@class claude-ide.proposal.Accepted
---@field diff claude-ide.Diff
---@field contents string
---@field before? string previous content; nil: no file
---@field typed? claude-ide.proposal.Text the user's version of the proposal
---@field call? string
---@field cancel? fun()
---@field is_refused? boolean reported as failed, being checked

---@type claude-ide.proposal.Accepted[] oldest first
local waiting = {}

---@param one claude-ide.proposal.Accepted
local function forget(one)
  for index, other in ipairs(waiting) do
    if other == one then
      table.remove(waiting, index)
      break
    end
  end
  if one.cancel then
    one.cancel()
  end
end

---Texts of tools for a file that has changed since it was read.
local CHANGED = { "changed since", "modified since", "unexpectedly modified", "not found in file" }

---@param one claude-ide.proposal.Accepted
---@param said string error text of the tool
---@param is_there boolean
---@return string? why end of a sentence; nil: unknown
---@return string? short a shorter version
local function reason(one, said, is_there)
  local words = vim.trim((said:gsub("</?tool_use_error>", ""):gsub("^%s*Error:%s*", ""):gsub("%s+", " ")))
  local why = words:match("^(.-)%.%s") or (words:gsub("%.$", ""))
  local short = why
  for _, about in ipairs(CHANGED) do
    if words:find(about, 1, true) then
      short = is_there and "it had changed" or "it is no longer there"
      why = is_there and ("%s since %s read it"):format(short, one.diff.requester.name) or short
    end
  end
  if why == "" then
    return nil, nil
  end
  return why .. ".", short .. "."
end

---@param one claude-ide.proposal.Accepted
---@param why? string
---@param short? string
---@return string[] formats longest first
local function formats(one, why, short)
  local start = one.diff.requester.name .. " did not write %s"
  local elsewhere = one.diff.requester.client and "its terminal says why." or "the chat says why."
  return {
    ("%s, which you accepted: %s"):format(start, why or elsewhere),
    ("%s: %s"):format(start, why or elsewhere),
    ("%s: %s"):format(start, short or elsewhere),
    start .. ".",
  }
end

---@param one claude-ide.proposal.Accepted
---@param why? string
---@param short? string
---@param kept integer buffer with the user's edits
---@return string[] formats longest first
local function formats_with_text(one, why, short, kept)
  local start, failed = one.diff.requester.name .. " did not write %s", "its tool failed."
  local where = ("`:buffer %d`."):format(kept)
  return {
    ("%s: %s Your edits to the proposal are kept: %s"):format(start, why or failed, where),
    ("%s: %s Your edits: %s"):format(start, short or failed, where),
    ("%s. Your edits: %s"):format(start, where),
  }
end

---@param one claude-ide.proposal.Accepted
---@param said string error text of the tool
---@param is_credible? fun(disk: claude-ide.proposal.Disk): boolean whether the file confirms it
local function refused(one, said, is_credible)
  if one.is_refused then
    return
  end
  one.is_refused = true
  local id, path = one.diff.id, one.diff.files[1].path
  current_text.read(path, function(disk)
    forget(one)
    local is_written = disk.bytes and bytes.same_text(disk.bytes, one.contents)
    if is_written or is_credible and not is_credible(disk) then
      return
    end
    log.warn("%s was accepted and not written: %s", path, said)
    local was_awaited = awaited.give_up(path, one.contents)
    local buf = buffer.loaded(path)
    if was_awaited and buf then
      -- Show later changes of the file, or ask if it has unsaved changes.
      conflict.consider(buf)
    end
    local kept = one.typed and user_edits.put(id, path, one.typed)
    local why, short = reason(one, said, disk.stat ~= nil)
    local texts = kept and formats_with_text(one, why, short, kept) or formats(one, why, short)
    notice.warn(one_line.of_file(path, texts))
  end)
end

---The CLI is gone: checks the file.
---@param one claude-ide.proposal.Accepted
local function judge_by_file(one)
  refused(one, GONE, function(disk)
    return not disk.problem and disk.bytes == one.before
  end)
end

---Records an accepted diff that its requester will write.
---@param diff claude-ide.Diff still waiting
---@param contents string accepted
---@param before? string current content; nil: no file
---@param typed? integer the proposal's buffer, if edited by the user
function M.note(diff, contents, before, typed)
  local requester, file = diff.requester, diff.files[1]
  local call, client = requester.call and requester.call(diff.handle), requester.client
  if file.base or requester.writes ~= "agent" or not (call or client) then
    return
  end
  local one = { diff = diff, contents = contents, before = before, call = call } ---@type claude-ide.proposal.Accepted
  one.typed = typed and user_edits.copy(typed)
  if client then
    one.cancel = journal.await_allowed(client, file.path, function(said, is_gone)
      one.cancel = nil
      if said then
        refused(one, said)
      elseif is_gone then
        judge_by_file(one)
      else
        forget(one)
      end
    end)
  end
  waiting[#waiting + 1] = one
  if #waiting > MAX_WAITING then
    forget(waiting[1])
  end
end

---The file has the accepted text.
---@param diff claude-ide.Diff
function M.written(diff)
  local one = vim.iter(waiting):find(function(other)
    return other.diff == diff
  end)
  if one then
    forget(one)
  end
end

---A requester's call has ended.
---@param requester claude-ide.requests.Requester
---@param call string
---@param result claude-ide.sessions.ToolResult
function M.ended(requester, call, result)
  local one = vim.iter(waiting):find(function(other)
    return other.diff.requester == requester and other.call == call
  end)
  if not one then
    return
  elseif not result.is_error then
    return forget(one)
  end
  local words = {}
  for _, part in ipairs(result.content) do
    words[#words + 1] = part.text
  end
  refused(one, table.concat(words, " "))
end

---A requester that reports its calls is gone: it will write nothing more.
---@param requester claude-ide.requests.Requester
function M.gone(requester)
  local left = vim.tbl_filter(function(one)
    return one.diff.requester == requester
  end, waiting)
  for _, one in ipairs(left) do
    refused(one, GONE)
  end
end

---Number of edits not known to be written.
---@return integer
function M.count()
  return #waiting
end

return M
