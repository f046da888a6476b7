-- Reads changes from the CLIs' transcripts: the third source, for edits neither announced in time nor in a git repository. A transcript is
-- read as it grows, each result once; without one only this source is missing.
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local failed_calls = lazy("claude-ide.edits.journal.failed_calls")
local ide_file = lazy("claude-ide.base.file")
local log = lazy("claude-ide.base.log")
local observe = lazy("claude-ide.edits.journal.observe")
local paths = lazy("claude-ide.base.path")
local retry = lazy("claude-ide.base.retry")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local store = lazy("claude-ide.edits.journal.store")
local unapproved = lazy("claude-ide.edits.unapproved")

local M = {}

---Subagents of a turn write their own transcripts.
local MAX_AGENTS = 32

---How long a finished subagent is followed: its last lines may be read after it is known to have finished.
local LAST_MS = 2000

---Delay after a change: one edit writes several lines.
local QUIET_MS = 60

---How long to look for a transcript that does not exist yet.
local PATIENCE_MS = 12000

---@class claude-ide.journal.Reading one transcript
---@field transcript? claude-ide.sessions.Transcript
---@field close fun()
---@field seen table<string, true> tool calls
---@field offset integer up to which changes were read
---@field ending? boolean its subagent has finished
---@field last? boolean read once more, then no longer followed
---@field ended? boolean no longer followed
---@field busy boolean
---@field again boolean

---@class claude-ide.journal.Reader one client
---@field client integer
---@field session_of fun(): string? its current session
---@field is_terminal boolean it is not a chat
---@field session? string the one being read
---@field stop_finding? fun() set while its transcript is searched
---@field began integer milliseconds since the epoch: older edits are ignored
---@field files table<string, claude-ide.journal.Reading>

---@type table<integer, claude-ide.journal.Reader>
local readers = {}

---Records an edit from the transcript.
---@param texts { path: string, before?: string, after: string }
---@param turn integer
---@param by_user boolean the user changed the proposal, and so has seen it
---@return claude-ide.journal.File? changed
local function note(texts, turn, by_user)
  local max = observe.MAX_BYTES
  local path = paths.normalize(texts.path)
  local current, why_not = ide_file.read_now(path, max)
  if math.max(#texts.after, #(texts.before or "")) > max or (not current and why_not ~= "missing") then
    return nil
  end
  local name, real, secret = store.named(path)
  local changed = store.reported(name, real, secret, turn, by_user, texts.before, texts.after, current)
  return changed and store.find(path) or nil
end

---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
---@param calls claude-ide.sessions.ChangedFile[]
---@param done fun()
local function recall(reader, reading, calls, done)
  local files = {} ---@type table<integer, claude-ide.journal.File>
  local next_one = 0
  local function step()
    next_one = next_one + 1
    local call = calls[next_one]
    if not call then
      for _, file in pairs(files) do
        observe.look_now(file)
      end
      if next(files) then
        announce.tell()
      end
      return done()
    end
    if reading.seen[call.tool_use_id] or not reading.transcript then
      return step()
    end
    reading.seen[call.tool_use_id] = true
    reading.transcript:edit_texts(call.tool_use_id, function(texts)
      if texts and texts.path:sub(1, 1) == "/" then
        local turn = store.turn_at(reader.client, call.start or reader.began)
        local file = note(texts, turn, call.user_modified)
        if file then
          files[file.id] = file
        end
      end
      step()
    end)
  end
  step()
end

local follow ---@type fun(reader: claude-ide.journal.Reader, file: string): claude-ide.journal.Reading
local read ---@type fun(reader: claude-ide.journal.Reader, reading: claude-ide.journal.Reading)

---@param reader claude-ide.journal.Reader
---@param file string
---@return boolean
local function was_written_since(reader, file)
  local stat = vim.uv.fs_stat(file)
  return stat ~= nil and stat.mtime.sec * 1000 + stat.mtime.nsec / 1e6 >= reader.began
end

---Reads the transcript of a finished subagent to its end.
---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
local function finish_agent(reader, reading)
  reading.ending = true
  vim.defer_fn(function()
    reading.last = true
    read(reader, reading)
  end, LAST_MS)
end

---Follows running subagents, and finished ones for a moment, even if they were never seen running.
---@param reader claude-ide.journal.Reader
---@param agents claude-ide.sessions.Agent[]
local function follow_agents(reader, agents)
  local followed = 0
  for _, other in pairs(reader.files) do
    followed = followed + (other.ended and 0 or 1)
  end
  for _, agent in ipairs(agents) do
    local known = reader.files[agent.file]
    if not known and not agent.running and not was_written_since(reader, agent.file) then
      known = { seen = {}, offset = 0, busy = false, again = false, ended = true, close = function() end }
      reader.files[agent.file] = known
    elseif not known and followed <= MAX_AGENTS then
      followed = followed + 1
      known = follow(reader, agent.file)
    end
    if known and not known.ended and not known.ending and not agent.running then
      finish_agent(reader, known)
    end
  end
end

---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
function read(reader, reading)
  if reading.ended then
    return
  elseif reading.busy or not reading.transcript then
    reading.again = true
    return
  end
  reading.busy, reading.again = true, false
  local is_last = reading.last
  local function done()
    reading.busy = false
    if reading.again then
      read(reader, reading)
    elseif is_last and not reading.ended then
      reading.ended = true
      reading.close()
    end
  end
  follow_agents(reader, reading.transcript:info().agents)
  bus.emit("transcript_grew", reader.client, reading.transcript)
  failed_calls.look(reader.client, reading.transcript, reading.seen, function()
    if not reading.transcript then
      return
    end
    reading.transcript:changed_files(reading.offset, reader.began, function(found)
      if not found then
        return done()
      end
      reading.offset = found.offset
      local fresh = {}
      for _, change in ipairs(found.changes) do
        expected_write.written(reader.client, paths.normalize(change.path), change["end"])
        fresh[#fresh + 1] = not reading.seen[change.tool_use_id] and change or nil
      end
      if reader.is_terminal then
        unapproved.ended(reader.client, store.last_turn(reader.client), fresh, found.calls)
      end
      recall(reader, reading, found.changes, done)
    end)
  end)
end

---@param reader claude-ide.journal.Reader
---@param file string
---@return claude-ide.journal.Reading
function follow(reader, file)
  local reading = { seen = {}, offset = 0, busy = false, again = false } ---@type claude-ide.journal.Reading
  reader.files[file] = reading
  local timer = assert(vim.uv.new_timer())
  local function soon()
    timer:start(
      QUIET_MS,
      0,
      vim.schedule_wrap(function()
        read(reader, reading)
      end)
    )
  end
  local cancel = sessions.open(file, function(transcript, err)
    reading.transcript = transcript
    if not transcript then
      log.debug("a transcript is not read: %s", err)
      return
    end
    soon()
  end, function(delta)
    -- A replaced file is read from the start; calls seen before are recognized by id.
    reading.offset = delta.reset and 0 or reading.offset
    soon()
  end)
  reading.close = function()
    if not timer:is_closing() then
      timer:close()
    end
    cancel()
    reading.transcript = nil
  end
  return reading
end

---@param reader claude-ide.journal.Reader
local function close_reader(reader)
  for _, reading in pairs(reader.files) do
    reading.close()
  end
  if reader.stop_finding then
    reader.stop_finding()
  end
  reader.files, reader.session, reader.stop_finding = {}, nil, nil
end

---Stops reading for a client.
---@param client integer
function M.stop(client)
  local reader = readers[client]
  readers[client] = nil
  if reader then
    close_reader(reader)
  end
end

---@param client integer
---@param session_of? fun(): string?
---@param since? integer
---@return claude-ide.journal.Reader
local function new_reader(client, session_of, since)
  return {
    client = client,
    is_terminal = not session_of,
    session_of = session_of or function()
      local session = sessions.of_client(client)
      return session and session.id
    end,
    began = since or clock.now(),
    files = {},
  }
end

---Reads the transcript of a client's session once it exists: it is created with the first prompt.
---@param client integer
---@param session_of? fun(): string? default: the client process's session
---@param since? integer of a new reader: older edits are ignored; default: now
---@return claude-ide.journal.Reader
local function ensure(client, session_of, since)
  local reader = readers[client] or new_reader(client, session_of, since)
  readers[client] = reader
  local session = reader.session_of()
  if not session or (reader.session == session and (reader.stop_finding or next(reader.files))) then
    return reader
  end
  close_reader(reader)
  local function look(answer)
    sessions.find(session, answer)
  end
  reader.session = session
  reader.stop_finding = retry.until_found(look, PATIENCE_MS, function(file)
    reader.stop_finding = nil
    if file then
      follow(reader, file)
    end
  end)
  return reader
end

---Follows the sessions of connected CLIs.
local attach = require("claude-ide.base.once")(function()
  sessions.attach()
  bus.on("session_changed", function(change)
    for _, client in ipairs(server.clients()) do
      if client.pid == change.session.pid and not client.mapped then
        ensure(client.id)
      end
    end
  end)
end)

---Whether a client's transcript names files by other paths than those of this machine.
local function is_elsewhere(client)
  local known = server.client(client)
  return known ~= nil and known.mapped
end

---Handles a new client, or the start of a turn.
---@param client integer
---@param session_of? fun(): string? its current session; default: the process's
function M.begin(client, session_of)
  if is_elsewhere(client) then
    return
  end
  attach()
  ensure(client, session_of)
end

---Reads what a session has changed since a moment, and changes from now on.
---@param client integer
---@param since integer milliseconds since the epoch
---@param session string
function M.follow(client, since, session)
  attach()
  ensure(client, function()
    return session
  end, since)
end

---Handles the possible end of a turn.
---@param client integer
function M.finish(client)
  if not is_elsewhere(client) then
    ensure(client)
  end
end

return M
