-- Turns: what a CLI does between two prompts. A prompt shows as closeAllDiffTabs; the end of the edits as getDiagnostics for
-- all files (see WIRE notes in tools/get_diagnostics.lua).
local M = {}

---Older ones are forgotten, with which turn changed what; what is unreviewed stays so.
local MAX_TURNS = 200

---@class claude-ide.journal.Turn
---@field id integer
---@field client integer
---@field started integer seconds since the epoch
---@field ended? integer nil: it goes on
---@field files string[] paths that Claude changed in it
---@field moves? claude-ide.journal.Move[] files that this editor moved in it, in order
---@field left_out integer files that commands changed in it and that are not known well enough to be taken back

---@type claude-ide.journal.Turn[] oldest first
local turns = {}
local newest = 0

---@type table<integer, claude-ide.journal.Turn> the last of each client
local last_of = {}

---@type table<integer, table<string, true>> paths, by turn
local left_out = {}

---@param name "ClaudeTurnStarted"|"ClaudeTurnEnded"
---@param turn claude-ide.journal.Turn
local function announce(name, turn)
  require("claude-ide.event").emit(name, { turn = vim.deepcopy(turn) })
end

---@param client integer
---@return claude-ide.journal.Turn
local function add(client)
  newest = newest + 1
  local turn = { id = newest, client = client, started = os.time(), files = {}, left_out = 0 }
  turns[#turns + 1] = turn
  if #turns > MAX_TURNS then
    local forgotten = table.remove(turns, 1).id
    left_out[forgotten] = nil
    require("claude-ide.hub").tell("turn_forgotten", forgotten)
  end
  announce("ClaudeTurnStarted", turn)
  return turn
end

---@param client integer
---@return claude-ide.journal.Turn
function M.start(client)
  M.finish(client)
  local turn = add(client)
  last_of[client] = turn
  return turn
end

---A turn for what this editor writes at once for a client, beside the turn that the client is in.
---@param client integer
---@return claude-ide.journal.Turn
function M.alone(client)
  local turn = add(client)
  turn.ended = turn.started
  announce("ClaudeTurnEnded", turn)
  return turn
end

---The turn that a client is in; a new one where none was seen to begin. One whose edits seemed over goes on.
---@param client integer
---@return claude-ide.journal.Turn
function M.current(client)
  local turn = last_of[client] or M.start(client)
  turn.ended = nil
  return turn
end

---@param client integer
function M.finish(client)
  local turn = last_of[client]
  if turn and not turn.ended then
    turn.ended = os.time()
    announce("ClaudeTurnEnded", turn)
  end
end

---Forgets that a client is there; its turns stay.
---@param client integer
function M.leave(client)
  M.finish(client)
  last_of[client] = nil
end

---@param id integer
---@return claude-ide.journal.Turn?
function M.get(id)
  for i = #turns, 1, -1 do
    if turns[i].id == id then
      return turns[i]
    end
  end
end

---@param client integer
---@return claude-ide.journal.Turn?
function M.last_of(client)
  return last_of[client]
end

---@param id integer
---@param path string
function M.touch(id, path)
  local turn = M.get(id)
  if turn and not vim.tbl_contains(turn.files, path) then
    turn.files[#turn.files + 1] = path
  end
end

---Notes files that commands changed in a turn and that nobody can take back.
---@param id integer
---@param paths string[]
function M.leave_out(id, paths)
  local turn = M.get(id)
  if turn and #paths > 0 then
    left_out[id] = left_out[id] or {}
    for _, path in ipairs(paths) do
      left_out[id][path] = true
    end
    turn.left_out = vim.tbl_count(left_out[id])
  end
end

---@return claude-ide.journal.Turn[] list copies, newest last
function M.list()
  return vim.deepcopy(turns)
end

return M
