-- Reads the transcripts of clients' sessions and of their subagents as they grow, and tells of the result of each call once
-- (`calls_ended`). No other module reads on in a transcript. Without one only what it tells is missing.
local once = require("claude-ide.base.once")
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local log = lazy("claude-ide.base.log")
local retry = lazy("claude-ide.base.retry")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local soon = lazy("claude-ide.base.soon")

local M = {}

---Subagents of a turn write their own transcripts.
local MAX_AGENTS = 32

---How long a finished subagent is followed: its last lines may be read after it is known to have finished.
local LAST_MS = 2000

---Delay after a change: one edit writes several lines.
local QUIET_MS = 60

---How long to look for a transcript that does not exist yet.
local PATIENCE_MS = 12000

---A call is asked for at once: a question that comes later is about another one.
local ASKED_MS = 3000

---How late the CLI may say that the user has answered: a quick command is over by then.
local LATE_MS = 2000

---Questions to the user that are known of a client.
local MAX_WAITS = 100

---How long a question waits for a transcript that is found or opened just now: a turn may be over before it is.
local OPENING_MS = 1000

---@class claude-ide.sessions.Reading one transcript
---@field file string
---@field session? string
---@field transcript claude-ide.sessions.Transcript set once it is open
---@field since integer milliseconds since the epoch: calls that ended before are ignored
---@field is_subagent boolean
---@field name? string of a subagent
---@field package close fun()
---@field package offset integer up to which results were read
---@field package ending? boolean its subagent has finished
---@field package last? boolean read once more, then no longer followed
---@field package ended? boolean no longer followed
---@field package busy boolean it is being opened, or asked
---@field package again boolean

---@class claude-ide.sessions.Reader one client
---@field client integer
---@field session_of fun(): string? its current session
---@field session? string the one being read
---@field stop_finding? fun() set while its transcript is searched
---@field missing? string a session that has no transcript
---@field since integer milliseconds since the epoch: older calls are ignored
---@field files table<string, claude-ide.sessions.Reading>
---@field seen table<string, true> calls that were told
---@field asked table<fun(ran?: claude-ide.sessions.CommandTime[]), true> waiting for an answer
---@field waits { from: integer, to?: integer }[] when the user was asked whether a call may run, in milliseconds since the epoch
---@field opening (fun())[] to be called when its transcript is open, or will not be

---@type table<integer, claude-ide.sessions.Reader>
local readers = {}

local follow ---@type fun(reader: claude-ide.sessions.Reader, file: string, is_subagent: boolean): claude-ide.sessions.Reading
local read ---@type fun(reader: claude-ide.sessions.Reader, reading: claude-ide.sessions.Reading)

---@param reader claude-ide.sessions.Reader
---@param file string
---@param is_subagent boolean
---@return claude-ide.sessions.Reading
local function new_reading(reader, file, is_subagent)
  local reading = {
    file = file,
    session = reader.session,
    since = reader.since,
    is_subagent = is_subagent,
    offset = 0,
    busy = true,
    again = false,
    close = function() end,
  } --[[@as claude-ide.sessions.Reading]]
  reader.files[file] = reading
  return reading
end

---@param reader claude-ide.sessions.Reader
---@param file string
---@return boolean
local function was_written_since(reader, file)
  local stat = vim.uv.fs_stat(file)
  return stat ~= nil and stat.mtime.sec * 1000 + stat.mtime.nsec / 1e6 >= reader.since
end

---Reads the transcript of a finished subagent to its end.
---@param reader claude-ide.sessions.Reader
---@param reading claude-ide.sessions.Reading
local function finish_agent(reader, reading)
  reading.ending = true
  vim.defer_fn(function()
    reading.last = true
    read(reader, reading)
  end, LAST_MS)
end

---Follows running subagents, and finished ones for a moment, even if they were never seen running.
---@param reader claude-ide.sessions.Reader
---@param agents claude-ide.sessions.Agent[]
local function follow_agents(reader, agents)
  local followed = 0
  for _, other in pairs(reader.files) do
    followed = followed + (other.ended and 0 or 1)
  end
  for _, agent in ipairs(agents) do
    local known = reader.files[agent.file]
    if not known and not agent.running and not was_written_since(reader, agent.file) then
      known = new_reading(reader, agent.file, true)
      known.ended = true
    elseif not known and followed <= MAX_AGENTS then
      followed = followed + 1
      known = follow(reader, agent.file, true)
    end
    if known then
      known.name = agent.description or agent.agent_type
    end
    if known and not known.ended and not known.ending and not agent.running then
      finish_agent(reader, known)
    end
  end
end

---@param reader claude-ide.sessions.Reader
---@param reading claude-ide.sessions.Reading
---@param calls claude-ide.sessions.EndedCall[]
local function tell(reader, reading, calls)
  -- A replaced file is read from the start, as is a session that the client comes back to; a fork has the calls of its origin.
  local fresh = vim.tbl_filter(function(call)
    return not reader.seen[call.id]
  end, calls)
  for _, call in ipairs(fresh) do
    reader.seen[call.id] = true
  end
  if fresh[1] then
    bus.emit("calls_ended", reader.client, fresh, reading)
  end
end

function read(reader, reading)
  if reading.ended then
    return
  elseif reading.busy then
    reading.again = true
    return
  end
  reading.busy, reading.again = true, false
  local is_last = reading.last
  follow_agents(reader, reading.transcript:info().agents)
  bus.emit("transcript_grew", reader.client)
  reading.transcript:ended_calls(reading.offset, reader.since, function(found)
    reading.busy = false
    if found then
      reading.offset = found.offset
      tell(reader, reading, found.calls)
    end
    if reading.again or found and found.more then
      read(reader, reading)
    elseif is_last then
      reading.close()
    end
  end)
end

---@param reader claude-ide.sessions.Reader
local function stop_waiting(reader)
  local waiting = reader.opening
  reader.opening = {}
  for _, ask in ipairs(waiting) do
    ask()
  end
end

function follow(reader, file, is_subagent)
  local reading = new_reading(reader, file, is_subagent)
  local read_soon = soon(function()
    read(reader, reading)
  end, QUIET_MS)
  local cancel = sessions.open(file, function(transcript, err)
    if not transcript then
      reading.ended = true
      log.debug("a transcript is not read: %s", err)
    else
      reading.transcript, reading.busy = transcript, false
      read_soon()
    end
    stop_waiting(reader)
  end, function(delta)
    reading.offset = delta.reset and 0 or reading.offset
    read_soon()
  end)
  reading.close = function()
    reading.ended = true
    cancel()
  end
  return reading
end

---@param reader claude-ide.sessions.Reader
local function close_reader(reader)
  for _, reading in pairs(reader.files) do
    reading.close()
  end
  if reader.stop_finding then
    reader.stop_finding()
  end
  reader.files, reader.session, reader.stop_finding = {}, nil, nil
  for _, answer in ipairs(vim.tbl_keys(reader.asked)) do
    answer() -- a transcript that is closed answers nothing
  end
end

---Reads the transcript of a client's session once it exists: it is created with the first prompt.
---@param reader claude-ide.sessions.Reader
local function find(reader)
  local session = reader.session_of()
  if not session or (reader.session == session and (reader.stop_finding or next(reader.files))) then
    return
  end
  close_reader(reader)
  reader.session = session
  reader.stop_finding = retry.until_found(
    function(answer)
      sessions.find(session, answer)
    end,
    PATIENCE_MS,
    function(file)
      reader.stop_finding = nil
      reader.missing = not file and session or nil
      if file then
        follow(reader, file, false)
      else
        stop_waiting(reader)
      end
    end
  )
end

---Notes when a session waits for the user.
---@param reader? claude-ide.sessions.Reader
---@param state claude-ide.sessions.State
local function note_wait(reader, state)
  local last = reader and reader.waits[#reader.waits]
  if not reader or not state.since or state.source ~= "record" then
    return -- hooks tell when the call is over, not when it was allowed
  elseif state.activity == "waiting" and not (last and not last.to) then
    reader.waits = vim.list_slice(reader.waits, #reader.waits - MAX_WAITS)
    table.insert(reader.waits, { from = state.since })
  elseif state.activity ~= "waiting" and last and not last.to then
    last.to = state.since
  end
end

---A call that the user was asked for has run since they answered, if no other call ran meanwhile.
---@param reader claude-ide.sessions.Reader
---@param ran claude-ide.sessions.CommandTime[]
---@return claude-ide.sessions.CommandTime[]
local function without_waits(reader, ran)
  for _, wait in ipairs(reader.waits) do
    local to = wait.to and wait.to - LATE_MS or math.huge
    local meanwhile = vim.tbl_filter(function(time)
      return time.start < to and (time["end"] or math.huge) > wait.from
    end, ran)
    local asked = meanwhile[1]
    local is_asked = #meanwhile == 1 and wait.from >= asked.start and wait.from <= asked.start + ASKED_MS
    if is_asked and to > asked.start then
      asked.made, asked.start = asked.start, math.min(to, asked["end"] or to) --[[@as integer]]
    end
  end
  return vim.tbl_filter(function(time)
    return time.start < math.huge -- else it waits still
  end, ran)
end

---Follows the sessions of connected CLIs.
local attach = once(function()
  sessions.attach()
  bus.on("session_changed", function(change)
    for _, client in ipairs(server.clients()) do
      if client.pid == change.session.pid then
        M.read(client.id)
        note_wait(readers[client.id], change.session.state)
      end
    end
  end)
end)

---Reads what a client's session does from now on. Called again where a turn begins or ends: the session may be another one.
---@param client integer
---@param session_of? fun(): string? its current session; default: the client process's
---@param since? integer milliseconds since the epoch: calls that ended before are ignored; default: now
function M.read(client, session_of, since)
  local known = server.client(client)
  if known and known.mapped then
    return -- its transcript names files by other paths than those of this machine
  end
  attach()
  readers[client] = readers[client]
    or {
      client = client,
      opening = {},
      waits = {},
      session_of = session_of or function()
        local session = sessions.of_client(client)
        return session and session.id
      end,
      since = since or clock.now(),
      files = {},
      seen = {},
      asked = {},
    }
  find(readers[client])
end

---@param reader claude-ide.sessions.Reader
---@return claude-ide.sessions.Reading?
local function main_reading(reader)
  for _, reading in pairs(reader.files) do
    if not reading.ended and not reading.is_subagent then
      return reading
    end
  end
end

---When calls of a client's session and of its subagents ran, at a time or later, that may have changed any file.
---@param client integer
---@param since integer milliseconds since the epoch
---@param done fun(ran: claude-ide.sessions.CommandTime[]?) nil: its transcript is not read
function M.commands(client, since, done)
  local reader = readers[client]
  if not reader then
    return done(nil)
  end
  local answer
  answer = once(function(ran)
    reader.asked[answer] = nil
    done(ran)
  end)
  reader.asked[answer] = true
  local function ask()
    local main = main_reading(reader)
    if not main or not main.transcript then
      return answer(nil)
    end
    local readings = vim.tbl_filter(function(reading)
      return reading.transcript ~= nil and not reading.ended
    end, vim.tbl_values(reader.files))
    local open, all = #readings, {} ---@type integer, claude-ide.sessions.CommandTime[]
    for _, reading in ipairs(readings) do
      reading.transcript:commands(since, function(ran)
        open = open - 1
        if not ran and reading == main then
          return answer(nil)
        end
        vim.list_extend(all, ran or {})
        if open == 0 then
          answer(without_waits(reader, all))
        end
      end)
    end
  end
  local reading = main_reading(reader)
  local is_opening = reader.stop_finding and reader.missing ~= reader.session
    or reading and not reading.transcript
  if not is_opening then
    return ask()
  end
  table.insert(reader.opening, ask)
  vim.defer_fn(answer, OPENING_MS)
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

return M
