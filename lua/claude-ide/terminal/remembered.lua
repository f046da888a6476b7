-- Remembers the terminals of a Neovim, also of one that was killed: the next one of the project offers their sessions again.
-- Invariant: a terminal of a running Neovim is not offered.
local M = {}

---@class claude-ide.terminal.Remembered
---@field session string id
---@field cwd string
---@field name? string given by the user
---@field since? integer milliseconds since the epoch: it was handed over to the background

---Of another Neovim, in a file.
---@class claude-ide.terminal.Record
---@field project string folder
---@field terminals claude-ide.terminal.Remembered[]

---Records of projects that are not opened any more are removed.
local MAX_AGE_S = 30 * 24 * 3600
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
  return require("claude-ide.workspace").folders()[1]
end

local function write()
  if vim.v.exiting ~= vim.NIL then
    return -- they end with Neovim
  end
  local list = vim.list_slice(handed)
  for _, terminal in ipairs(running()) do
    local live = terminal:live()
    list[#list + 1] = live and { session = live.id, cwd = terminal.spec.cwd, name = terminal.spec.name }
      or nil
  end
  if vim.deep_equal(list, written) then
    return
  end
  written = list
  local path = path_of(vim.uv.os_getpid() --[[@as integer]])
  if not list[1] then
    vim.uv.fs_unlink(path)
    return
  end
  vim.fn.mkdir(folder(), "p", "0o700")
  local record = { project = project(), terminals = list } ---@type claude-ide.terminal.Record
  require("claude-ide.file").replace(path, vim.json.encode(record))
end

---Keeps the record up to date.
---@param list fun(): claude-ide.terminal.Session[] those that run
function M.follow(list)
  running = list
  require("claude-ide.bus").on("session_changed", require("claude-ide.soon")(write, DELAY_MS))
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
  local text = require("claude-ide.file").read_now(path, MAX_BYTES)
  local ok, record = pcall(vim.json.decode, text or "")
  local is_one = ok
    and type(record) == "table"
    and type(record.project) == "string"
    and vim.islist(record.terminals)
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
end

---Takes records of ended Neovims in this project.
---@return boolean is_held a running Neovim has one: it may be about to end, as after `:restart`
local function take()
  local host, is_held = vim.uv.os_gethostname(), false
  for name in vim.fs.dir(folder()) do
    local pid = vim.startswith(name, host .. ".") and tonumber(name:sub(#host + 2):match("^(%d+)%.json$")) --[[@as integer?]]
    local path = ("%s/%s"):format(folder(), name)
    local stat = pid and pid ~= vim.uv.os_getpid() and vim.uv.fs_stat(path)
    local record = stat and read(path) or nil
    local is_ours = record ~= nil and record.project == project()
    local runs = pid and require("claude-ide.process").runs(pid)
    is_held = is_held or is_ours and runs == true
    if record and is_ours and not runs then
      for _, one in ipairs(vim.tbl_filter(is_valid, record.terminals)) do
        offered[#offered + 1] = one
        if one.since then
          require("claude-ide.bus").emit("session_left", one.session, one.since)
        end
      end
    end
    if stat and not runs and (is_ours or not record or os.time() - stat.mtime.sec > MAX_AGE_S) then
      vim.uv.fs_unlink(path)
    end
  end
  return is_held
end

---Terminals that ended with earlier Neovims of this project.
---@return claude-ide.terminal.Remembered[]
function M.list()
  take()
  return offered
end

---Says that there are several.
local function say()
  local left, count = #offered, 0
  for _, one in ipairs(offered) do
    -- One without a prompt has no transcript to resume.
    require("claude-ide.sessions").find(one.session, function(file)
      local live = require("claude-ide.sessions.catalogue").running(one.session)
      left, count = left - 1, count + (file and not (live and live.job) and 1 or 0)
      if left == 0 and count > 1 then
        require("claude-ide.ui.notice").info(
          ("%d terminals of Claude ended with Neovim. `:Claude list` has them."):format(count)
        )
      end
    end)
  end
end

---Says once that there are several.
function M.offer()
  local before = #offered
  require("claude-ide.retry").until_found(
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
