-- Edits that a CLI was allowed and then did not make: its tool looks at the file once more, and refuses where that is another one
-- than it has read. Nothing on the wire tells so; the transcript does, a moment later.
-- Invariant: a call that failed is told to the one who allowed it last before it ended, once, and to nobody who allowed another.
local M = {}

---Of the end of a transcript no more is looked at: what was allowed a moment ago stands there.
local MAX_ROWS = 64

---Beginnings of what a tool said.
local MAX_TEXT = 600

---Allowed edits of one client that are waited for.
local MAX_ALLOWED = 32

---Tools that put what they write before the user.
local WRITES = { Edit = true, MultiEdit = true, Write = true }

---@class claude-ide.journal.Allowed
---@field path string
---@field at integer milliseconds since the epoch
---@field till? integer when its turn was over
---@field done fun(words?: string, is_gone?: boolean)

---@type table<integer, claude-ide.journal.Allowed[]> by client, oldest first
local allowed = {}

---@param client integer
---@param index integer
---@return claude-ide.journal.Allowed
local function take_out(client, index)
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
  take_out(client, index).done(words, is_gone)
end

---Waits for what becomes of an edit.
---@param client integer
---@param path string absolute
---@param done fun(words?: string, is_gone?: boolean) words: the tool's, which refused; nil: it wrote, or nobody will know. is_gone: its client is, in that turn, and neither is known. Never within this call
---@return fun() cancel it is known otherwise
function M.await(client, path, done)
  if #(allowed[client] or {}) >= MAX_ALLOWED then
    finish(client, 1)
  end
  local list = allowed[client] or {}
  allowed[client] = list
  local one = { path = path, at = require("claude-ide.clock").now(), done = done }
  table.insert(list, one)
  return function()
    for index, other in ipairs(allowed[client] or {}) do
      if other == one then
        take_out(client, index)
        break
      end
    end
  end
end

---A prompt begins the client's next turn: calls that end from now on are not those.
---@param client integer
---@param at? integer when, in milliseconds since the epoch; default: now
function M.turn_over(client, at)
  at = at or require("claude-ide.clock").now()
  for _, one in ipairs(allowed[client] or {}) do
    one.till = one.till or at
  end
end

---A client is gone.
---@param client integer
function M.stop(client)
  while allowed[client] do
    -- In a later turn it would have been told.
    finish(client, 1, nil, not allowed[client][1].till)
  end
end

---A call of a client changed a file: nothing of what was allowed there before it ended was refused. It is told a moment later,
---and more may have been allowed since.
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

---@param rows claude-ide.sessions.Row[]
---@param since integer
---@return integer[] messages with calls that failed since then
local function with_failures(rows, since)
  local ids = {}
  for _, row in ipairs(rows) do
    local has_one = vim.iter(row.tools or {}):any(function(tool)
      local failed = tool.status == "failed" or tool.status == "rejected"
      return failed and WRITES[tool.name] and (tool["end"] or 0) >= since
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
  path = require("claude-ide.path").normalize(path)
  local ended, list = call["end"] or 0, allowed[client] or {}
  for index = #list, 1, -1 do
    local one = list[index]
    if one.path == path and one.at <= ended and (not one.till or ended <= one.till) then
      -- What the user stopped they know of.
      return finish(client, index, call.status == "failed" and words_of(call.result) or nil)
    end
  end
end

---Looks for calls that failed, where somebody waits for what becomes of theirs.
---@param client integer
---@param transcript claude-ide.sessions.Transcript of the client's session or of a subagent
---@param seen table<string, true> calls that were told of
---@param done fun() never called where the transcript is closed meanwhile
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
          local failed = block.status == "failed" or block.status == "rejected"
          if block.type == "tool_use" and failed and WRITES[block.name] and not seen[block.id] then
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
