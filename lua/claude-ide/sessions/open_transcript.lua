-- An open transcript: its summary is in memory, everything else is requested from the library.
-- Row and message numbers are valid until a change with `reset`; a request that crosses one fails.

local lazy = require("claude-ide.lazy")
local phrases = lazy("claude-ide.sessions.phrases")
local transport = lazy("claude-ide.sessions.transport")

---@class claude-ide.sessions.Transcript
---@field private number integer id in the library
---@field private end_request? fun()
---@field private current claude-ide.sessions.Info set once it is open
---@field private cancels table<fun(), true> of pending requests
---@field private closed boolean
local Transcript = {}
Transcript.__index = Transcript

---@alias claude-ide.sessions.Done<T> fun(result: T?, err: string?)

---@return claude-ide.sessions.Transcript to be started
function Transcript.new()
  return setmetatable({ cancels = {}, closed = false }, Transcript)
end

---Opens the file and follows it. Of a huge one the end is available first.
---@param file string
---@param done fun(transcript: claude-ide.sessions.Transcript?, err: string?) called again with an error if it breaks later
---@param on_change? fun(delta: claude-ide.sessions.Delta)
---@param shows? boolean its last row is what the CLI shows and has not recorded yet
function Transcript:start(file, done, on_change, shows)
  local request, number = { open = { file = file, shows = shows } }, nil
  self.end_request, number = transport.request(request, {
    reply = function(info, err)
      if err then
        self.closed = true
        done(nil, err)
        return
      end
      self:learn(info)
      done(self)
    end,
    change = function(delta, info)
      self:learn(info)
      if on_change then
        on_change(delta)
      end
    end,
  })
  self.number = number
end

---@private
---@param info claude-ide.sessions.Info without `agents` if those are unchanged
function Transcript:learn(info)
  info.agents = info.agents or self.current and self.current.agents or {}
  self.current = info
end

---@protected
---@param question table one field, named after the request: see `crates/session/src/service/request.rs`
---@param done fun(result: any, err: string?)
---@return fun() cancel
function Transcript:ask(question, done)
  if self.closed then
    vim.schedule(function()
      done(nil, "the transcript is closed")
    end)
    return function() end
  end
  local cancel
  local function forget()
    self.cancels[cancel] = nil
  end
  local end_request = transport.request({
    ask = { transcript = self.number, epoch = self.current.epoch, question = question },
  }, {
    reply = function(result, err)
      forget()
      done(result, err)
    end,
  })
  cancel = function()
    forget()
    end_request()
  end
  self.cancels[cancel] = true
  return cancel
end

---Its id in the library.
---@return integer
function Transcript:id()
  return self.number
end

---The current state, from memory.
---@return claude-ide.sessions.Info
function Transcript:info()
  return self.current
end

---Rows of the displayed branch, oldest first.
---@param from integer 0-based
---@param count integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Row[]>
---@return fun() cancel
function Transcript:rows(from, count, done)
  return self:ask({ rows = { from = from, count = count } }, done)
end

---Messages in full, each text cut to `max_text` bytes.
---@param ids integer[] of rows
---@param max_text integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Message[]>
---@return fun() cancel
function Transcript:messages(ids, max_text, done)
  return self:ask({ messages = { ids = ids, max_text = max_text } }, done)
end

---The file before and after an edit, in full; nil without an error: the call changed no file.
---@param tool_use_id string
---@param done claude-ide.sessions.Done<claude-ide.sessions.EditTexts>
---@return fun() cancel
function Transcript:edit_texts(tool_use_id, done)
  return self:ask({ edit_texts = { tool_use_id = tool_use_id } }, done)
end

---Calls that ended, for results from a byte offset on, and the next offset. The library keeps the texts of their changes until it is asked
---again.
---@param offset integer 0 at first
---@param since integer omit calls that ended before
---@param done claude-ide.sessions.Done<claude-ide.sessions.EndedCalls>
---@return fun() cancel
function Transcript:ended_calls(offset, since, done)
  return self:ask({ ended_calls = { offset = offset, since = since } }, done)
end

---When calls ran, at a time or later, that may have changed any file: commands, tools of MCP servers, subagents. The file is read first.
---@param since integer milliseconds since the epoch
---@param done claude-ide.sessions.Done<claude-ide.sessions.CommandTime[]>
---@return fun() cancel
function Transcript:commands(since, done)
  return self:ask({ commands = { since = since } }, done)
end

---Shows the branch through a message; nil: follow the newest branch.
---@param through integer?
---@param done claude-ide.sessions.Done<claude-ide.sessions.Delta>
---@return fun() cancel
function Transcript:show_branch(through, done)
  return self:ask({ show_branch = { through = through or vim.NIL } }, function(moved, err)
    if moved then
      self:learn(moved.info)
    end
    done(moved and moved.delta, err)
  end)
end

---Messages of a subagent in the same file (older CLIs).
---@param first integer its first message
---@param done claude-ide.sessions.Done<claude-ide.sessions.Row[]>
---@return fun() cancel
function Transcript:sidechain(first, done)
  return self:ask({ sidechain = { first = first } }, done)
end

---The position of a message; nil without an error: no such message.
---@param id integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Position>
---@return fun() cancel
function Transcript:position(id, done)
  return self:ask({ position = { id = id } }, done)
end

---The message at a line of the file; nil without an error: none, or not read yet.
---@param line integer from 1
---@param done claude-ide.sessions.Done<integer>
---@return fun() cancel
function Transcript:message_at_line(line, done)
  return self:ask({ message_at_line = { line = line } }, done)
end

---@class claude-ide.sessions.ExportCursor progress of an export, opaque
---@field next integer row

---@class claude-ide.sessions.MarkdownPiece
---@field cursor claude-ide.sessions.ExportCursor
---@field lines string[]
---@field head string[] lines above all others, with the last piece

---The next piece as Markdown.
---@param summary claude-ide.sessions.Summary
---@param cursor? claude-ide.sessions.ExportCursor nil: start
---@param done claude-ide.sessions.Done<claude-ide.sessions.MarkdownPiece>
---@return fun() cancel
function Transcript:markdown(summary, cursor, done)
  local about = {
    id = summary.id,
    title = phrases.title(summary),
    cwd = summary.cwd,
    branch = summary.branch,
    model = summary.model,
  }
  return self:ask({ markdown = { about = about, home = vim.env.HOME, cursor = cursor } }, done)
end

---Closes it and cancels pending requests.
function Transcript:close()
  if self.closed then
    return
  end
  self.closed = true
  for _, cancel in ipairs(vim.tbl_keys(self.cancels)) do
    cancel()
  end
  if self.end_request then
    self.end_request()
  end
end

return Transcript
