-- What shell commands of a turn changed: checkpoints at its start and end, compared.
-- Its end is told by the CLI's status file, where there is one, and by the last call after edits. Without either nothing is
-- compared: what somebody else does between two prompts must not be taken for Claude's.
local M = {}

---@class claude-ide.journal.Watched one turn
---@field turn integer
---@field from? claude-ide.journal.Checkpoint
---@field wrote table<string, true> what the person wrote in this Neovim meanwhile, links followed
---@field was_busy boolean
---@field unfollow? fun()

---@type table<integer, claude-ide.journal.Watched> by client
local watched = {}

---The file in which a CLI tells whether it works or waits for a prompt. Undocumented, so it may be missing.
---@param pid integer
---@return string
local function status_file(pid)
  local config = vim.env.CLAUDE_CONFIG_DIR
  local folder = config and config ~= "" and config or (vim.uv.os_homedir() .. "/.claude")
  return ("%s/sessions/%d.json"):format(folder, pid)
end

local MAX_STATUS_BYTES = 64 * 1024

---@param entry claude-ide.journal.Watched
---@param path string
---@param on_idle fun()
local function look_at_status(entry, path, on_idle)
  require("claude-ide.file").read_later(path, MAX_STATUS_BYTES, function(bytes)
    local ok, status = pcall(vim.json.decode, bytes or "")
    local word = ok and type(status) == "table" and status.status
    if word == "busy" or word == "waiting" then
      entry.was_busy = true
    elseif word == "idle" and entry.was_busy then
      entry.was_busy = false
      on_idle()
    end
  end)
end

---@param client claude-ide.Client?
---@return string folder
local function folder_of(client)
  return client and client.roots[1] or require("claude-ide.workspace").folders()[1]
end

---Whether a client is known to work on its turn still.
---@param client integer
---@return boolean
function M.is_busy(client)
  return watched[client] ~= nil and watched[client].was_busy
end

---Forgets a client's turn.
---@param client integer
function M.stop(client)
  local entry = watched[client]
  if entry and entry.unfollow then
    entry.unfollow()
  end
  watched[client] = nil
end

---A turn begins: takes the checkpoint that its end is compared with.
---@param client integer
---@param turn integer
---@param on_idle fun() the CLI waits for a prompt again
function M.begin(client, turn, on_idle)
  M.stop(client)
  local entry = { turn = turn, wrote = {}, was_busy = false }
  watched[client] = entry
  local connected = require("claude-ide.server").client(client)
  require("claude-ide.journal.checkpoint").take(folder_of(connected), function(checkpoint)
    entry.from = checkpoint
  end)
  if connected and connected.pid then
    local path = status_file(connected.pid)
    local function look()
      look_at_status(entry, path, on_idle)
    end
    entry.unfollow = require("claude-ide.watch.files").follow(path, look)
    look()
  end
end

---The person wrote a file: its change is theirs.
---@param path string
function M.person_wrote(path)
  if next(watched) ~= nil then
    local real = require("claude-ide.path").real(path)
    for _, entry in pairs(watched) do
      entry.wrote[real] = true
    end
  end
end

---A turn is over, or a part of it: tells each file that differs from its start, with what it held then.
---@param client integer
---@param each fun(change: claude-ide.journal.FoundChange, turn: integer)
function M.finish(client, each)
  local entry = watched[client]
  if not entry then
    return
  end
  local checkpoint, paths = require("claude-ide.journal.checkpoint"), require("claude-ide.path")
  checkpoint.take(folder_of(require("claude-ide.server").client(client)), function(now)
    local from = entry.from
    if not now or not from or watched[client] ~= entry then
      return
    end
    entry.from = now
    local function wanted(path)
      return not entry.wrote[paths.real(path)]
    end
    checkpoint.compare(from, now, wanted, function(change)
      each(change, entry.turn)
    end, function(left_out)
      if left_out > 0 then
        require("claude-ide.ui.notice").warn(
          ("Commands of Claude's changed %d files. `:Claude review` shows %d of them."):format(
            left_out + checkpoint.MAX_FILES,
            checkpoint.MAX_FILES
          )
        )
      end
    end)
  end)
end

return M
