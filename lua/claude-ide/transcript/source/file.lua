-- A source for session and subagent files of the CLI. The library reads and follows them.

local Transcript = require("claude-ide.sessions.open_transcript")
local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local path = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local safely = lazy("claude-ide.base.safely")

---@class claude-ide.transcript.FileSource : claude-ide.transcript.Source, claude-ide.sessions.Transcript
local File = setmetatable({}, { __index = Transcript })
File.__index = File

---Longer texts are cut.
local MAX_TEXT, MAX_LINES = 16 * 1024, 1000

---@param file string
---@param cwd? string of the session
---@return claude-ide.transcript.FileSource
function File.new(file, cwd)
  file = path.normalize(file)
  local id = vim.fs.basename(file):gsub("%.jsonl$", "")
  local is_agent = vim.startswith(id, "agent-")
  local fields = {
    key = file,
    id = id,
    session = file:match("([^/]+)/subagents/[^/]+$") or id,
    is_agent = is_agent,
    title = is_agent and "Subagent " .. id:sub(7, 14) or "Session " .. id:sub(1, 8),
    cwd = cwd,
    max_text = MAX_TEXT,
    max_lines = MAX_LINES,
  }
  return setmetatable(vim.tbl_extend("error", Transcript.new(), fields), File)
end

---@param listener claude-ide.transcript.Listener
function File:open(listener)
  local wrap = safely.wrap
  self:start(
    self.key,
    wrap("open a transcript", function(transcript, err)
      if transcript then
        listener.opened()
      else
        listener.failed(err or "it cannot be read")
      end
    end),
    wrap("follow a transcript", listener.changed),
    true
  )
end

function File:draw(request, done)
  self:ask({ draw = { request = request, max_text = self.max_text } }, function(drawn, err)
    local by_row = {} ---@type table<integer, claude-ide.transcript.Drawn>
    for _, one in ipairs(drawn or {}) do
      by_row[one.at] = one
    end
    done(drawn and by_row, err)
  end)
end

---A session that has just begun is not listed yet; subagents are never listed.
function File:describe(done)
  if self.is_agent then
    return
  end
  catalogue.find(self.id, function(item)
    done(item and {
      title = phrases.title(item.summary),
      cwd = item.summary.cwd,
    })
  end)
end

function File:known_agents()
  local info = self:info() --[[@as claude-ide.sessions.Info?]]
  return info and info.agents or {}
end

return File
