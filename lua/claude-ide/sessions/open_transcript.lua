-- One open transcript: what is known of it at hand, everything else asked of the library.
-- Row and message numbers hold until a change says `reset`; a question that crosses one is answered with an error.

---@class claude-ide.sessions.Transcript
---@field private number integer names it, to the library
---@field private end_request fun()
---@field private current claude-ide.sessions.Info
---@field private cancels table<fun(), true> of questions that wait
---@field private closed boolean
local Transcript = {}
Transcript.__index = Transcript

---@alias claude-ide.sessions.Done<T> fun(result: T?, err: string?)

---Opens a transcript and follows it. Of a huge one the end is there first.
---@param file string
---@param done fun(transcript: claude-ide.sessions.Transcript?, err: string?) called again with an error if it breaks later
---@param on_change? fun(delta: claude-ide.sessions.Delta)
---@return fun() cancel closes it, too
function Transcript.open(file, done, on_change)
  local self = setmetatable({ cancels = {}, closed = false }, Transcript)
  local number
  self.end_request, number = require("claude-ide.sessions.transport").request({ open = { file = file } }, {
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
  return function()
    self:close()
  end
end

---@private
---@param info claude-ide.sessions.Info without subagents where those are still the same
function Transcript:learn(info)
  info.agents = info.agents or self.current and self.current.agents or {}
  self.current = info
end

---@private
---@param question table one field, named after the question: see `crates/session/src/service/request.rs`
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
  local end_request = require("claude-ide.sessions.transport").request({
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

---What is known without asking.
---@return claude-ide.sessions.Info
function Transcript:info()
  return self.current
end

---Rows of the branch that is shown, oldest first.
---@param from integer 0-based
---@param count integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Row[]>
---@return fun() cancel
function Transcript:rows(from, count, done)
  return self:ask({ rows = { from = from, count = count } }, done)
end

---Messages in full, each text cut to so many bytes.
---@param ids integer[] of rows
---@param max_text integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Message[]>
---@return fun() cancel
function Transcript:messages(ids, max_text, done)
  return self:ask({ messages = { ids = ids, max_text = max_text } }, done)
end

---Messages as a transcript shows them.
---@param request claude-ide.transcript.DrawRequest
---@param max_text integer each text is cut to so many bytes
---@param done claude-ide.sessions.Done<claude-ide.transcript.Item[][]>
---@return fun() cancel
function Transcript:draw(request, max_text, done)
  return self:ask({ draw = { request = request, max_text = max_text } }, done)
end

---The file before and after an edit, in full; nil without an error where the call changed no file.
---@param tool_use_id string
---@param done claude-ide.sessions.Done<claude-ide.sessions.EditTexts>
---@return fun() cancel
function Transcript:edit_texts(tool_use_id, done)
  return self:ask({ edit_texts = { tool_use_id = tool_use_id } }, done)
end

---The calls that changed a file, by results from a byte of the file on, and where to go on the next time.
---@param offset integer 0 at first
---@param since integer calls that ended before this are left out
---@param done claude-ide.sessions.Done<claude-ide.sessions.ChangedFiles>
---@return fun() cancel
function Transcript:changed_files(offset, since, done)
  return self:ask({ changed_files = { offset = offset, since = since } }, done)
end

---The message that made a tool call; nil without an error where there is none.
---@param tool_use_id string
---@param done claude-ide.sessions.Done<integer>
---@return fun() cancel
function Transcript:message_of_tool(tool_use_id, done)
  return self:ask({ message_of_tool = { tool_use_id = tool_use_id } }, done)
end

---Shows the branch that leads through a message; nil follows the newest branch again.
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

---The messages of a subagent that lies in the same file (older CLIs).
---@param first integer its first message
---@param done claude-ide.sessions.Done<claude-ide.sessions.Row[]>
---@return fun() cancel
function Transcript:sidechain(first, done)
  return self:ask({ sidechain = { first = first } }, done)
end

---The subagents that there are now.
---@param done claude-ide.sessions.Done<claude-ide.sessions.Agent[]>
---@return fun() cancel
function Transcript:agents(done)
  return self:ask({ agents = vim.empty_dict() }, done)
end

---Where a message stands; nil without an error where there is no such message.
---@param id integer
---@param done claude-ide.sessions.Done<claude-ide.sessions.Position>
---@return fun() cancel
function Transcript:position(id, done)
  return self:ask({ position = { id = id } }, done)
end

---The message that a line of the file belongs to; nil without an error where it belongs to none, or is not known yet.
---@param line integer from 1
---@param done claude-ide.sessions.Done<integer>
---@return fun() cancel
function Transcript:message_at_line(line, done)
  return self:ask({ message_at_line = { line = line } }, done)
end

---@class claude-ide.sessions.ExportCursor how far an export has come; the library's
---@field next integer row

---@class claude-ide.sessions.MarkdownPiece
---@field cursor claude-ide.sessions.ExportCursor
---@field lines string[]
---@field head string[] what stands above all of them, once this is the last one

---A piece of it as Markdown.
---@param summary claude-ide.sessions.Summary
---@param cursor? claude-ide.sessions.ExportCursor nil: from the beginning
---@param done claude-ide.sessions.Done<claude-ide.sessions.MarkdownPiece>
---@return fun() cancel
function Transcript:markdown(summary, cursor, done)
  local about = {
    id = summary.id,
    title = require("claude-ide.sessions.phrases").title(summary),
    cwd = summary.cwd,
    branch = summary.branch,
    model = summary.model,
  }
  return self:ask({ markdown = { about = about, home = vim.env.HOME, cursor = cursor } }, done)
end

---Closes it: nothing more is heard of it, nor of what was asked.
function Transcript:close()
  if self.closed then
    return
  end
  self.closed = true
  for _, cancel in ipairs(vim.tbl_keys(self.cancels)) do
    cancel()
  end
  self.end_request()
end

return Transcript
