-- Detects allowed edits that a CLI did not make: its tool checks the file again, and fails if it has changed since it was read. No message
-- reports that; the transcript does, a moment later.
-- Invariant: a failed call is reported once, for the last edit of its file that was allowed before the call ended.
local lazy = require("claude-ide.lazy")
local clock = lazy("claude-ide.base.clock")
local native = lazy("claude-ide.library.native")
local paths = lazy("claude-ide.base.path")

local M = {}

---Only the last rows of a transcript are read: a recent call is among them.
local MAX_ROWS = 64

---Limit for the text of a tool's result.
local MAX_TEXT = 600

---Allowed edits per client that are waited for.
local MAX_ALLOWED = 32

---@class claude-ide.journal.Allowed
---@field path string
---@field at integer milliseconds since the epoch
---@field till? integer end of its turn
---@field done fun(words?: string, is_gone?: boolean)

---@type table<integer, claude-ide.journal.Allowed[]> by client, oldest first
local allowed = {}

---@param client integer
---@param index integer
---@return claude-ide.journal.Allowed
local function remove(client, index)
  local one = table.remove(allowed[client], index)
  if #allowed[client] == 0 then
    allowed[client] = nil
  end
  return one
end

---@param client integer
---@param index integer
---@param words? string
---@param is_gone? boolean
local function finish(client, index, words, is_gone)
  remove(client, index).done(words, is_gone)
end

---Waits for the result of an edit.
---@param client integer
---@param path string absolute
---@param done fun(words?: string, is_gone?: boolean) words: the tool's error; nil: it wrote, or the result stays unknown. is_gone: the client left in that turn, with an unknown result. Never called within this call
---@return fun() cancel for when the result is known otherwise
function M.await(client, path, done)
  if #(allowed[client] or {}) >= MAX_ALLOWED then
    finish(client, 1)
  end
  local list = allowed[client] or {}
  allowed[client] = list
  local one = { path = path, at = clock.now(), done = done }
  table.insert(list, one)
  return function()
    for index, other in ipairs(allowed[client] or {}) do
      if other == one then
        remove(client, index)
        break
      end
    end
  end
end

---Ends the client's turn at the next prompt: calls that end later belong to the next one.
---@param client integer
---@param at? integer milliseconds since the epoch; default: now
function M.turn_over(client, at)
  at = at or clock.now()
  for _, one in ipairs(allowed[client] or {}) do
    one.till = one.till or at
  end
end

---Handles a client's exit.
---@param client integer
function M.stop(client)
  while allowed[client] do
    -- In a later turn, a failure would have been reported already.
    finish(client, 1, nil, not allowed[client][1].till)
  end
end

---Handles a call that changed a file: edits of it allowed before the call ended were not refused. The report is late, so edits allowed
---since then are kept.
---@param client integer
---@param path string
---@param ended? integer milliseconds since the epoch
function M.written(client, path, ended)
  for index = #(allowed[client] or {}), 1, -1 do
    local one = allowed[client][index]
    if one.path == path and (not ended or one.at <= ended) then
      finish(client, index)
    end
  end
end

---@param call { name: string, status?: string } of a row, or of a message
---@return boolean whether it writes a file, and did not
local function is_failure(call)
  local has_failed = call.status == "failed" or call.status == "rejected"
  return has_failed and vim.list_contains(native.writing_tools() or {}, call.name)
end

---@param rows claude-ide.sessions.Row[]
---@param since integer
---@return integer[] messages with calls that failed since
local function with_failures(rows, since)
  local ids = {}
  for _, row in ipairs(rows) do
    local has_one = vim.iter(row.tools or {}):any(function(tool)
      return is_failure(tool) and (tool["end"] or 0) >= since
    end)
    ids[#ids + 1] = has_one and row.id or nil
  end
  return ids
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

---@param client integer
---@param call claude-ide.sessions.Block
local function take(client, call)
  local path = type(call.input) == "table" and call.input.file_path
  if type(path) ~= "string" or path:sub(1, 1) ~= "/" then
    return
  end
  path = paths.normalize(path)
  local ended, list = call["end"] or 0, allowed[client] or {}
  for index = #list, 1, -1 do
    local one = list[index]
    if one.path == path and one.at <= ended and (not one.till or ended <= one.till) then
      -- The user knows of calls they stopped.
      return finish(client, index, call.status == "failed" and words_of(call.result) or nil)
    end
  end
end

---Looks for failed calls if allowed edits are waited for.
---@param client integer
---@param transcript claude-ide.sessions.Transcript of the client's session or of a subagent
---@param seen table<string, true> calls already reported
---@param done fun() not called if the transcript is closed meanwhile
function M.look(client, transcript, seen, done)
  local oldest = (allowed[client] or {})[1]
  if not oldest then
    return done()
  end
  transcript:rows(math.max(transcript:info().len - MAX_ROWS, 0), MAX_ROWS, function(rows)
    local ids = with_failures(rows or {}, oldest.at)
    if #ids == 0 then
      return done()
    end
    transcript:messages(ids, MAX_TEXT, function(messages)
      for _, message in ipairs(messages or {}) do
        for _, block in ipairs(message.blocks) do
          if block.type == "tool_use" and is_failure(block) and not seen[block.id] then
            seen[block.id] = true
            take(client, block)
          end
        end
      end
      done()
    end)
  end)
end

return M
