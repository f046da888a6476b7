-- Claude's sessions: running ones, stored ones, transcripts. The facade over the library; draws nothing.
-- Works without the server. Disk access is on the library's threads: callbacks run later, on the main loop, once, and never after a
-- cancel. Types: sessions/types.lua.
local lazy = require("claude-ide.lazy")
local live = lazy("claude-ide.sessions.live")
local open_transcript = lazy("claude-ide.sessions.open_transcript")
local server = lazy("claude-ide.server")
local transport = lazy("claude-ide.sessions.transport")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Starts watching running sessions. Cheap to repeat. Silent without files to watch: see `problem`.
function M.attach()
  transport.start()
end

---Why a configuration folder has no records of running sessions; nil: it can have some. Reads the disk.
---@param dir string
---@return string?
local function no_records(dir)
  if not vim.uv.fs_stat(dir) then
    return ("There is no %s: Claude Code has not run yet, or keeps its files in another folder (CLAUDE_CONFIG_DIR)."):format(
      dir
    )
  end
  local folder = dir .. "/sessions"
  local found, why, code = vim.uv.fs_scandir(folder)
  if found then
    return nil
  elseif code == "ENOENT" then
    return ("There is no %s: this version of Claude Code does not say what a session does."):format(folder)
  end
  return ("%s cannot be read: %s"):format(folder, why)
end

---Why running sessions cannot be watched, for :checkhealth; nil: they can. Reads the disk.
---@return string?
function M.problem()
  local started, err = transport.start()
  if not started then
    return err
  end
  local problem ---@type string?
  for _, dir in ipairs(transport.config_dirs()) do
    local why = no_records(dir)
    if not why then
      return nil
    end
    problem = problem or why
  end
  return problem
end

---The running sessions, from memory.
---@return claude-ide.sessions.Live[]
function M.live()
  return live.list()
end

---The session of a connected client.
---@param client_id integer
---@return claude-ide.sessions.Live?
function M.of_client(client_id)
  local client = server.client(client_id)
  return client and live.of_pid(client.pid)
end

---@param question table
---@param listener claude-ide.sessions.Listener
---@return fun() cancel
local function request(question, listener)
  return (transport.request(question, listener))
end

---The sessions of a folder, of a folder and its subfolders, or all.
---@class claude-ide.sessions.Scope
---@field scope? "folder"|"tree"|"all" default: "folder"
---@field folder? string default: the root of the workspace

---@param opts claude-ide.sessions.Scope
local function place(opts)
  local scope = opts.scope or "folder"
  if scope == "all" then
    return { scope = scope }
  end
  return { scope = scope, folder = opts.folder or workspace.folders()[1] }
end

---Stored sessions, most recently written first.
---@param opts claude-ide.sessions.Scope?
---@param done fun(summaries: claude-ide.sessions.Summary[]?, err: string?)
---@return fun() cancel
function M.list(opts, done)
  return request({ list = place(opts or {}) }, { reply = done })
end

---Finds a session's transcript.
---@param id string
---@param done fun(file: string?, err: string?)
---@return fun() cancel
function M.find(id, done)
  return request({ find = { id = id } }, { reply = done })
end

---What the CLI has stored of a session: it does so later than its record tells.
---@param id string
---@param since? integer when its process began: turns and prompts of earlier ones do not count
---@param done fun(stored: claude-ide.sessions.Stored?, err: string?)
---@return fun() cancel
function M.stored(id, since, done)
  return request({ stored = { id = id, since = since } }, { reply = done })
end

---Gives a session a title. Other readers see it once they read its file again.
---@param summary claude-ide.sessions.Summary
---@param title string one line
---@param is_running boolean a process may write to its transcript
---@param done fun(_: any, err: string?)
---@return fun() cancel
function M.rename(summary, title, is_running, done)
  local wanted = { id = summary.id, file = summary.file, title = title, is_running = is_running }
  return request({ rename = wanted }, { reply = done })
end

---How changes are detected: by events of the system, or by polling where those are incomplete.
---@param done fun(mode: ("events"|"polling")?, err: string?)
---@return fun() cancel
function M.watch_mode(done)
  return request({ mode = vim.empty_dict() }, { reply = done })
end

---Opens a transcript and follows it. Of a huge one the end is available first; a change reports completion.
---@param file string of a session or a subagent
---@param done fun(transcript: claude-ide.sessions.Transcript?, err: string?) called again with an error if it breaks later
---@param on_change? fun(delta: claude-ide.sessions.Delta)
---@param shows? boolean its last row is what the CLI shows and has not recorded yet
---@return fun() cancel also closes it
function M.open(file, done, on_change, shows)
  local transcript = open_transcript.new()
  transcript:start(file, done, on_change, shows)
  return function()
    transcript:close()
  end
end

---@class claude-ide.sessions.SearchOpts : claude-ide.sessions.Scope
---@field pattern string a Rust regular expression
---@field literal? boolean the pattern is plain text
---@field case_sensitive? boolean nil: only if the pattern has an upper-case letter
---@field max_hits? integer default: 1000
---@field context_lines? integer default: 1

---Searches sessions, most recently written first. Hits arrive in batches.
---@param opts claude-ide.sessions.SearchOpts
---@param on_hits fun(hits: claude-ide.sessions.Hit[])
---@param done fun(report: claude-ide.sessions.SearchReport?, err: string?)
---@return fun() cancel
function M.search(opts, on_hits, done)
  return request({
    search = {
      pattern = opts.pattern,
      literal = opts.literal or false,
      case_sensitive = opts.case_sensitive,
      max_hits = opts.max_hits,
      context_lines = opts.context_lines,
      place = place(opts),
    },
  }, { reply = done, hits = on_hits })
end

return M
