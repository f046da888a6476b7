-- Handles the results of calls in the CLIs' transcripts: changes neither announced in time nor in a git repository, the third source, and
-- accepted edits that were not made. A CLI's tools check the file again, and fail if it has changed since it was read: no message says so.
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local bus = lazy("claude-ide.base.bus")
local callers = lazy("claude-ide.edits.journal.callers")
local clock = lazy("claude-ide.base.clock")
local comments_store = lazy("claude-ide.comments.store")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local native = lazy("claude-ide.library.native")
local observe = lazy("claude-ide.edits.journal.observe")
local paths = lazy("claude-ide.base.path")
local store = lazy("claude-ide.edits.journal.store")
local unapproved = lazy("claude-ide.edits.unapproved")

local M = {}

---Tells whoever waits for a write that a call made it, or that it failed.
---@param client integer
---@param call claude-ide.sessions.EndedCall
local function tell_of_write(client, call)
  local path = call.failure and call.failure.path
  if call.change then
    expected_write.written(client, paths.normalize(call.change.path), call["end"])
  elseif path and path:sub(1, 1) == "/" and vim.list_contains(native.writing_tools() or {}, call.name) then
    expected_write.failed(client, paths.normalize(path), call)
  end
end

---Records a change. The library has its texts.
---@param client integer
---@param call claude-ide.sessions.EndedCall
---@param reading claude-ide.sessions.Reading
---@return claude-ide.journal.File? changed
local function record(client, call, reading)
  if not call.change or call.change.path:sub(1, 1) ~= "/" then
    return nil
  end
  local path, real, secret = store.named(paths.normalize(call.change.path))
  local changed = store.reported(
    path,
    real,
    secret,
    client,
    call.start or reading.since,
    call["end"] or clock.now(),
    call.change.user_modified,
    reading.transcript:id(),
    call.id,
    observe.MAX_BYTES
  )
  return changed and store.find(path) or nil
end

M.attach = require("claude-ide.base.once")(function()
  comments_store.session_of = callers.session_of
  bus.on("calls_ended", function(client, calls, reading)
    unapproved.ended(client, store.last_turn(client), calls)
    local files = {} ---@type table<integer, claude-ide.journal.File>
    for _, call in ipairs(calls) do
      tell_of_write(client, call)
      callers.ended(call, reading)
      local file = record(client, call, reading)
      if file then
        files[file.id] = file
      end
    end
    for _, file in pairs(files) do
      observe.look_now(file)
    end
    if next(files) then
      announce.tell()
    end
  end)
end)

return M
