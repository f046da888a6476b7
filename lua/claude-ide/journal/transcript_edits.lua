-- What the transcripts of connected CLIs say that their turns changed: the third source, for edits that were neither announced
-- nor in a git repository. It is read as it grows; without a transcript nothing is missed but that.
local M = {}

---Only so many of the last messages are looked at: those of the turn.
local MAX_ROWS = 400

---Subagents of a turn write transcripts of their own.
local MAX_AGENTS = 32

---Several lines are written for one edit.
local QUIET_MS = 60

---Where a session has no transcript yet it is looked for again, less and less often.
local MAX_TRIES, TRY_MS = 6, 200

---Texts of results matter not; the changes in them are whole in any case.
local MAX_TEXT = 256

---@class claude-ide.journal.Reading one transcript
---@field transcript? claude-ide.sessions.Transcript
---@field close fun()
---@field seen table<string, true> tool calls
---@field busy boolean
---@field again boolean

---@class claude-ide.journal.Reader one client
---@field client integer
---@field session? string
---@field finding boolean
---@field began integer milliseconds since the epoch: older edits are none of ours
---@field turns { id: integer, began: integer }[]
---@field files table<string, claude-ide.journal.Reading>

---@type table<integer, claude-ide.journal.Reader>
local readers = {}

---@return integer ms since the epoch
local function now()
  local seconds, microseconds = vim.uv.gettimeofday()
  return math.floor(seconds * 1000 + microseconds / 1000)
end

---@return table
local function sessions()
  return require("claude-ide.sessions")
end

---@param reader claude-ide.journal.Reader
---@param time integer
---@return integer turn
local function turn_at(reader, time)
  local id ---@type integer?
  for _, turn in ipairs(reader.turns) do
    id = turn.began <= time and turn.id or id
  end
  return id or require("claude-ide.journal.turns").current(reader.client).id
end

---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
---@param messages claude-ide.sessions.Message[]
---@return claude-ide.sessions.Block[] calls that changed a file and were not dealt with
local function fresh(reader, reading, messages)
  local calls = {}
  for _, message in ipairs(messages) do
    for _, block in ipairs(message.blocks) do
      local result = block.type == "tool_use" and block.result or nil
      if result and not reading.seen[block.id] then
        reading.seen[block.id] = true
        local outcome = result.outcome
        local is_ours = (block["end"] or block.start or 0) >= reader.began
        if outcome and outcome.type == "file_change" and not result.is_error and is_ours then
          calls[#calls + 1] = block
        end
      end
    end
  end
  return calls
end

---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
---@param calls claude-ide.sessions.Block[]
---@param done fun()
local function recall(reader, reading, calls, done)
  local recall_edit, paths, changed = require("claude-ide.journal.recall"), {}, false
  local function step()
    local call = table.remove(calls, 1)
    if not call then
      for path in pairs(paths) do
        recall_edit.look(path)
      end
      if changed then
        require("claude-ide.journal.subscribers").tell()
      end
      return done()
    end
    reading.transcript:edit_texts(call.id --[[@as string]], function(texts)
      if texts and texts.path:sub(1, 1) == "/" then
        local path = require("claude-ide.path").normalize(texts.path)
        local told = {
          path = path,
          before = texts.before,
          after = texts.after,
          turn = turn_at(reader, call.start or reader.began),
          by_person = call.result.outcome.user_modified == true,
        }
        if recall_edit.edit(told) then
          paths[path], changed = true, true
        end
      end
      step()
    end)
  end
  step()
end

local follow ---@type fun(reader: claude-ide.journal.Reader, file: string)

---@param reader claude-ide.journal.Reader
---@param reading claude-ide.journal.Reading
local function read(reader, reading)
  if reading.busy or not reading.transcript then
    reading.again = true
    return
  end
  reading.busy, reading.again = true, false
  local function done()
    reading.busy = false
    if reading.again then
      read(reader, reading)
    end
  end
  local info = reading.transcript:info()
  for i, agent in ipairs(info.agents or {}) do
    if i <= MAX_AGENTS and not reader.files[agent.file] then
      follow(reader, agent.file)
    end
  end
  reading.transcript:rows(math.max(info.len - MAX_ROWS, 0), MAX_ROWS, function(rows)
    local ids = {}
    for _, row in ipairs(rows or {}) do
      if row.tools and (row["end"] or row.start or 0) >= reader.began then
        ids[#ids + 1] = row.id
      end
    end
    if #ids == 0 then
      return done()
    end
    reading.transcript:messages(ids, MAX_TEXT, function(messages)
      recall(reader, reading, fresh(reader, reading, messages or {}), done)
    end)
  end)
end

---@param reader claude-ide.journal.Reader
---@param file string
function follow(reader, file)
  local reading = { seen = {}, busy = false, again = false } ---@type claude-ide.journal.Reading
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
  local cancel = sessions().open(file, function(transcript, err)
    reading.transcript = transcript
    if not transcript then
      require("claude-ide.log").debug("a transcript is not read: %s", err)
      return
    end
    soon()
  end, soon)
  reading.close = function()
    timer:close()
    cancel()
    reading.transcript = nil
  end
end

---@param reader claude-ide.journal.Reader
local function let_go(reader)
  for _, reading in pairs(reader.files) do
    reading.close()
  end
  reader.files, reader.session, reader.finding = {}, nil, false
end

---Stops reading for a client.
---@param client integer
function M.stop(client)
  local reader = readers[client]
  readers[client] = nil
  if reader then
    let_go(reader)
  end
end

---Reads the transcript of the session that a client is in, as soon as there is one: it is written with the first prompt.
---@param client integer
---@param tries? integer
---@return claude-ide.journal.Reader
local function ensure(client, tries)
  local reader = readers[client]
    or { client = client, began = now(), turns = {}, files = {}, finding = false }
  readers[client] = reader
  local session = sessions().of_client(client)
  if not session or reader.finding or (reader.session == session.id and next(reader.files)) then
    return reader
  end
  let_go(reader)
  reader.session, reader.finding = session.id, true
  sessions().find(session.id, function(file)
    if readers[client] == reader and reader.session == session.id then
      reader.finding = false
      if file then
        follow(reader, file)
      elseif (tries or 0) < MAX_TRIES then
        vim.defer_fn(function()
          if readers[client] == reader then
            ensure(client, (tries or 0) + 1)
          end
        end, TRY_MS * bit.lshift(1, tries or 0))
      end
    end
  end)
  return reader
end

local attached = false

---Follows what the sessions of connected CLIs do.
local function attach()
  if attached then
    return
  end
  attached = true
  sessions().attach()
  require("claude-ide.hub").on("session_changed", function(change)
    for _, client in ipairs(require("claude-ide.server").clients()) do
      if client.pid == change.session.pid then
        ensure(client.id)
      end
    end
  end)
end

---A client is there, or a turn of it begins.
---@param client integer
---@param turn? integer
function M.begin(client, turn)
  attach()
  local reader = ensure(client)
  if turn then
    table.insert(reader.turns, { id = turn, began = now() })
  end
end

---A turn of a client may be over.
---@param client integer
function M.finish(client)
  ensure(client)
end

return M
