-- Sessions of Claude: which run, which there are, what was said. The facade over the library; nothing here draws.
-- Works while the server does not run. What takes disk work happens on threads of the library: callbacks come later, on
-- the main loop, once, and never after a cancel. Types: sessions/types.lua.
local M = {}

---Begins to watch the running sessions. Cheap to call again. Without files to watch it stays silent: see `problem`.
function M.attach()
  require("claude-ide.sessions.transport").start()
end

---Why what running sessions do cannot be seen, for :checkhealth; nil where it can. Looks at the disk.
---@return string?
function M.problem()
  local transport = require("claude-ide.sessions.transport")
  local started, err = transport.start()
  if not started then
    return err
  end
  local dir = transport.config_dir()
  if not vim.uv.fs_stat(dir) then
    return ("There is no %s: Claude Code has not run yet, or keeps its files elsewhere (CLAUDE_CONFIG_DIR)."):format(
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

---The running sessions, from memory.
---@return claude-ide.sessions.Live[]
function M.live()
  return require("claude-ide.sessions.live").list()
end

---The session that a connected client is in.
---@param client_id integer
---@return claude-ide.sessions.Live?
function M.of_client(client_id)
  local client = require("claude-ide.server").client(client_id)
  return client and require("claude-ide.sessions.live").of_pid(client.pid)
end

---Which sessions are meant: those of a folder, of a folder and what lies below it, or all.
---@class claude-ide.sessions.Scope
---@field scope? "folder"|"tree"|"all" default: "folder"
---@field folder? string default: the root of the workspace

---@param opts claude-ide.sessions.Scope
local function place(opts)
  local scope = opts.scope or "folder"
  if scope == "all" then
    return { scope = scope }
  end
  return { scope = scope, folder = opts.folder or require("claude-ide.workspace").folders()[1] }
end

---The sessions there are, the one last written to first.
---@param opts claude-ide.sessions.Scope?
---@param done fun(summaries: claude-ide.sessions.Summary[]?, err: string?)
---@return fun() cancel
function M.list(opts, done)
  local cancel = require("claude-ide.sessions.transport").request(
    { list = place(opts or {}) },
    { reply = done }
  )
  return cancel
end

---Where the transcript of a session lies.
---@param id string
---@param done fun(file: string?, err: string?)
---@return fun() cancel
function M.find(id, done)
  local cancel = require("claude-ide.sessions.transport").request({ find = { id = id } }, { reply = done })
  return cancel
end

---What a session is doing: from the record of its process, and where CLIs keep none, from the end of its transcript.
---@param id string
---@param file string its transcript
---@param done fun(state: claude-ide.sessions.State?, err: string?)
---@return fun() cancel
function M.state(id, file, done)
  local cancel = require("claude-ide.sessions.transport").request(
    { state = { id = id, file = file } },
    { reply = done }
  )
  return cancel
end

---How changes are learned of: the system tells, or it does not tell of all and some files are looked at again and again.
---@param done fun(mode: ("events"|"polling")?, err: string?)
---@return fun() cancel
function M.watch_mode(done)
  local cancel = require("claude-ide.sessions.transport").request(
    { mode = vim.empty_dict() },
    { reply = done }
  )
  return cancel
end

---Opens a transcript and follows it. Of a huge one the end is there first; a change tells when all is.
---@param file string a session's or a subagent's
---@param done fun(transcript: claude-ide.sessions.Transcript?, err: string?) a second time, with an error, should it break
---@param on_change? fun(delta: claude-ide.sessions.Delta)
---@return fun() cancel closes it, too
function M.open(file, done, on_change)
  return require("claude-ide.sessions.open_transcript").open(file, done, on_change)
end

---@class claude-ide.sessions.SearchOpts : claude-ide.sessions.Scope
---@field pattern string a regular expression of Rust's
---@field literal? boolean the pattern is plain text
---@field case_sensitive? boolean nil: only if the pattern has an upper-case letter
---@field max_hits? integer default: 1000
---@field context_lines? integer default: 1

---Searches sessions, the one last written to first. Hits come in batches, as they are found.
---@param opts claude-ide.sessions.SearchOpts
---@param on_hits fun(hits: claude-ide.sessions.Hit[])
---@param done fun(report: claude-ide.sessions.SearchReport?, err: string?)
---@return fun() cancel
function M.search(opts, on_hits, done)
  local cancel = require("claude-ide.sessions.transport").request({
    search = {
      pattern = opts.pattern,
      literal = opts.literal or false,
      case_sensitive = opts.case_sensitive,
      max_hits = opts.max_hits,
      context_lines = opts.context_lines,
      place = place(opts),
    },
  }, { reply = done, hits = on_hits })
  return cancel
end

return M
