-- Remembers the terminals of a Neovim, also of one that was killed: the next one of the project offers their sessions again.
-- Invariants: a terminal of a running Neovim is not offered. What a Neovim offers and the user does not resume, the next one offers.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local files = lazy("claude-ide.base.file")
local json_table = lazy("claude-ide.base.json_table")
local notice = lazy("claude-ide.base.notice")
local process = lazy("claude-ide.base.process")
local retry = lazy("claude-ide.base.retry")
local sessions = lazy("claude-ide.sessions")
local soon = lazy("claude-ide.base.soon")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.terminal.Remembered
---@field session string id
---@field cwd string
---@field name? string given by the user
---@field since? integer milliseconds since the epoch: it was handed over to the background
---@field ended? integer seconds since the epoch: it ended with an earlier Neovim
---@field seen? boolean the user has seen it in a list

---Of another Neovim, in a file.
---@class claude-ide.terminal.Record
---@field project string folder
---@field terminals claude-ide.terminal.Remembered[]

---Records of projects that are not opened any more are removed, and older terminals.
local MAX_AGE_S = 30 * 24 * 3600
---Limit of those that are offered, newest first.
local MOST_OFFERED = 20
---A signal may end CLIs a moment before Neovim: they are offered, too.
local DELAY_MS = 1000
---How long a Neovim may take to end.
local PATIENCE_MS = 10000
---Size limit of a record.
local MAX_BYTES = 64 * 1024

---In this Neovim's record.
---@type claude-ide.terminal.Remembered[]
local written = {}
---Handed over by this Neovim.
---@type claude-ide.terminal.Remembered[]
local handed = {}
---@type fun(): claude-ide.terminal.Session[]
local running = function()
  return {}
end
---Of earlier Neovims.
---@type claude-ide.terminal.Remembered[]
local offered = {}

local function folder()
  return vim.fn.stdpath("state") .. "/claude-ide/terminals"
end

---@param pid integer
local function path_of(pid)
  return ("%s/%s.%d.json"):format(folder(), vim.uv.os_gethostname(), pid)
end

local function project()
  return workspace.folders()[1]
end

---Drops those of earlier Neovims that run here again, and the oldest.
local function tidy()
  local known = {} ---@type table<string, true>
  for _, terminal in ipairs(running()) do
    local live = terminal:live()
    known[live and live.id or ""] = true
  end
  local left, oldest = {}, os.time() - MAX_AGE_S
  for at = #offered, 1, -1 do
    local one = offered[at]
    local is_new = (one.ended or oldest) >= oldest
    if is_new and not known[one.session] and #left < MOST_OFFERED then
      known[one.session] = true
      table.insert(left, 1, one)
    end
  end
  offered = left
end

local function write()
  if vim.v.exiting ~= vim.NIL then
    return -- they end with Neovim
  end
  tidy()
  local list = vim.list_extend(vim.list_slice(offered), handed)
  for _, terminal in ipairs(running()) do
    local live = terminal:live()
    list[#list + 1] = live and { session = live.id, cwd = terminal.spec.cwd, name = terminal.spec.name }
      or nil
  end
  if vim.deep_equal(list, written) then
    return
  end
  written = vim.deepcopy(list)
  local path = path_of(vim.uv.os_getpid() --[[@as integer]])
  if not list[1] then
    vim.uv.fs_unlink(path)
    return
  end
  files.make_folder(folder(), files.PRIVATE)
  local record = { project = project(), terminals = list } ---@type claude-ide.terminal.Record
  files.replace(path, vim.json.encode(record))
end

---Keeps the record up to date.
---@param list fun(): claude-ide.terminal.Session[] those that run
function M.follow(list)
  running = list
  bus.on("session_changed", soon(write, DELAY_MS))
end

---A session that goes on in the background: the next Neovim shows what it changes.
---@param one claude-ide.terminal.Remembered
function M.hand_over(one)
  handed[#handed + 1] = one
  write()
end

---@param path string
---@return claude-ide.terminal.Record?
local function read(path)
  local record = json_table((files.read_now(path, MAX_BYTES)))
  local is_one = record and type(record.project) == "string" and vim.islist(record.terminals)
  return is_one and record --[[@as claude-ide.terminal.Record]] or nil
end

---@param one any
---@return boolean
local function is_valid(one)
  return type(one) == "table"
    and type(one.session) == "string"
    and type(one.cwd) == "string"
    and (one.name == nil or type(one.name) == "string")
    and (one.since == nil or type(one.since) == "number")
    and (one.ended == nil or type(one.ended) == "number")
    and (one.seen == nil or type(one.seen) == "boolean")
end

---Takes records of ended Neovims in this project.
---@return boolean is_held a running Neovim has one: it may be about to end, as after `:restart`
local function take()
  local host, is_held, used = vim.uv.os_gethostname(), false, {} ---@type string, boolean, string[]
  for name in vim.fs.dir(folder()) do
    local pid = vim.startswith(name, host .. ".") and tonumber(name:sub(#host + 2):match("^(%d+)%.json$")) --[[@as integer?]]
    local path = ("%s/%s"):format(folder(), name)
    local stat = pid and pid ~= vim.uv.os_getpid() and vim.uv.fs_stat(path)
    local record = stat and read(path) or nil
    local is_ours = record ~= nil and record.project == project()
    local runs = pid and process.runs(pid)
    is_held = is_held or is_ours and runs == true
    if record and is_ours and not runs then
      for _, one in ipairs(vim.tbl_filter(is_valid, record.terminals)) do
        if one.since then
          bus.emit("session_left", one.session, one.since)
        end
        one.since, one.ended = nil, one.ended or stat and stat.mtime.sec
        offered[#offered + 1] = one
      end
    end
    if stat and not runs and (is_ours or not record or os.time() - stat.mtime.sec > MAX_AGE_S) then
      used[#used + 1] = path
    end
  end
  write() -- before they are removed
  for _, path in ipairs(used) do
    vim.uv.fs_unlink(path)
  end
  return is_held
end

---Terminals that ended with earlier Neovims of this project.
---@return claude-ide.terminal.Remembered[]
function M.list()
  take()
  for _, one in ipairs(offered) do
    one.seen = true
  end
  write()
  return vim.list_slice(offered)
end

---Says that there are several.
local function say()
  local new = vim.tbl_filter(function(one)
    return not one.seen
  end, offered)
  local left, count = #new, 0
  for _, one in ipairs(new) do
    -- One without a prompt has no transcript to resume.
    sessions.find(one.session, function(file)
      local live = catalogue.running(one.session)
      left, count = left - 1, count + (file and not (live and live.job) and 1 or 0)
      if left == 0 and count > 1 then
        notice.info({
          ("%d terminals of Claude ended with Neovim. `:Claude list` has them."):format(count),
          ("%d terminals ended with Neovim: `:Claude list`"):format(count),
          ("`:Claude list` has %d ended terminals."):format(count),
        })
      end
    end)
  end
end

---Says that there are several, until the user has seen them in a list.
function M.offer()
  local before = #offered
  retry.until_found(
    function(answer)
      local is_held = take()
      answer((#offered > before or not is_held) and true or nil)
    end,
    PATIENCE_MS,
    function()
      if #offered > before then
        say()
      end
    end
  )
end

return M
