-- A source for session and subagent files of the CLI. The library reads and follows them.

---@class claude-ide.transcript.FileSource : claude-ide.transcript.Source
---@field private transcript claude-ide.sessions.Transcript set once it is open
---@field private cancel? fun()
---@field private agents? claude-ide.sessions.Agent[] indexed in `by_call`
---@field private by_call table<string, claude-ide.sessions.Agent>
local File = {}
File.__index = File

---Longer texts are cut.
local MAX_TEXT, MAX_LINES = 16 * 1024, 1000

---@param file string
---@param cwd? string of the session
---@return claude-ide.transcript.Source
function File.new(file, cwd)
  file = require("claude-ide.path").normalize(file)
  local id = vim.fs.basename(file):gsub("%.jsonl$", "")
  local is_agent = vim.startswith(id, "agent-")
  return setmetatable({
    key = file,
    id = id,
    session = file:match("([^/]+)/subagents/[^/]+$") or id,
    is_agent = is_agent,
    title = is_agent and "Subagent " .. id:sub(7, 14) or "Session " .. id:sub(1, 8),
    cwd = cwd,
    max_text = MAX_TEXT,
    max_lines = MAX_LINES,
    by_call = {},
  }, File)
end

---@param listener claude-ide.transcript.Listener
function File:open(listener)
  local wrap = require("claude-ide.safely").wrap
  self.cancel = require("claude-ide.sessions").open(
    self.key,
    wrap("open a transcript", function(transcript, err)
      if transcript then
        self.transcript = transcript
        listener.opened()
      else
        listener.failed(err or "it cannot be read")
      end
    end),
    wrap("follow a transcript", listener.changed),
    true
  )
end

function File:close()
  if self.cancel then
    self.cancel()
  end
end

function File:info()
  return self.transcript and self.transcript:info() --[[@as claude-ide.transcript.Info?]]
end

function File:rows(from, count, done)
  self.transcript:rows(from, count, done)
end

function File:messages(ids, max_text, done)
  self.transcript:messages(ids, max_text, done)
end

function File:draw(request, done)
  self.transcript:draw(request, self.max_text, done)
end

---A session that has just begun is not listed yet; subagents are never listed.
function File:describe(done)
  if self.is_agent then
    return
  end
  require("claude-ide.sessions.catalogue").find(self.id, function(item)
    done(item and {
      title = require("claude-ide.sessions.phrases").title(item.summary),
      cwd = item.summary.cwd,
    })
  end)
end

function File:show_branch(through, done)
  self.transcript:show_branch(through, done)
end

function File:position(id, done)
  self.transcript:position(id, done)
end

function File:message_at_line(line, done)
  self.transcript:message_at_line(line, done)
end

function File:edit_texts(tool_id, done)
  self.transcript:edit_texts(tool_id, done)
end

function File:agent_of(tool_id)
  local agents = self.transcript:info().agents
  if agents ~= self.agents then
    self.agents, self.by_call = agents, {}
    for _, agent in ipairs(agents) do
      local call = agent.tool_use_id
      if call then
        self.by_call[call] = self.by_call[call] or agent
      end
    end
  end
  return self.by_call[tool_id]
end

function File:subagent(agent, cwd)
  return File.new(agent.file, cwd)
end

function File:sidechain(first, done)
  self.transcript:sidechain(first, done)
end

return File
