-- The log file. `crates/nvim/src/logging.rs` writes to the same file in the same format:
-- `<UTC time> <LEVEL> <where>: <text>`.
-- A failure to write it is not reported.
local M = {}

---Maximum size, after which the file is renamed to `<name>.1`. Also in `logging.rs`.
local MAX_BYTES = 4 * 1024 * 1024
local OWNER_ONLY = 384 -- 0600: paths and names are private too

local RANK = { trace = 1, debug = 2, info = 3, warn = 4, error = 5, off = 6 }

---@type fun(): string minimum level, set once options are available
local level_of = function()
  return "info"
end

---@type integer?
local fd
---@type string?
local file

---Path of the log file.
---@return string
function M.path()
  if not file then
    file = vim.fn.stdpath("log") .. "/claude-ide.log"
  end
  return file
end

---Sets the function that returns the minimum level.
---@param fn fun(): string
function M.use_level(fn)
  level_of = fn
end

---@return integer? fd
local function open()
  local opened = vim.uv.fs_open(M.path(), "a", OWNER_ONLY)
  if not opened then
    pcall(vim.fn.mkdir, vim.fs.dirname(M.path()), "p") -- another Neovim may make it just now
    opened = vim.uv.fs_open(M.path(), "a", OWNER_ONLY)
  end
  return opened
end

local function is_full(handle)
  local stat = vim.uv.fs_fstat(handle)
  return stat ~= nil and stat.size >= MAX_BYTES
end

---The open file, rotated if necessary.
---@return integer? fd
local function ready()
  fd = fd or open()
  if fd and is_full(fd) then
    vim.uv.fs_close(fd)
    -- Rust or another Neovim may have rotated it.
    fd = open()
    if fd and is_full(fd) then
      vim.uv.fs_close(fd)
      vim.uv.fs_rename(M.path(), M.path() .. ".1")
      fd = open()
    end
  end
  return fd
end

local function write(line)
  if vim.in_fast_event() and not fd then
    vim.schedule(function()
      write(line)
    end)
    return
  end
  local handle = ready()
  if handle then
    -- A single write with O_APPEND: lines never mix.
    vim.uv.fs_write(handle, line)
  end
end

local function readable(value)
  local kind = type(value)
  if kind == "function" then
    return readable(value())
  elseif kind == "table" then
    return vim.inspect(value, { newline = " ", indent = "" })
  elseif kind == "number" or kind == "string" then
    return value
  end
  return tostring(value)
end

---@param message string format string, if there are arguments
---@param ... any strings and numbers; tables are inspected, functions called
local function compose(message, ...)
  local count = select("#", ...)
  if count == 0 then
    return message
  end
  local values = { ... }
  for index = 1, count do
    values[index] = readable(values[index])
  end
  return message:format(unpack(values, 1, count))
end

---Whether lines of a level are written.
---@param level "trace"|"debug"|"info"|"warn"|"error"
---@return boolean
function M.writes(level)
  return RANK[level] >= (RANK[level_of()] or RANK.info)
end

---@param level "trace"|"debug"|"info"|"warn"|"error"
local function log(level, message, ...)
  if not M.writes(level) then
    return
  end
  local ok, text = pcall(compose, tostring(message), ...)
  if not ok then
    text = ("%s (cannot be formatted: %s)"):format(message, text)
  end
  local seconds, microseconds = vim.uv.gettimeofday()
  local time = os.date("!%Y-%m-%dT%H:%M:%S", seconds)
  write(("%s.%06dZ %-5s lua: %s\n"):format(time, microseconds, level:upper(), text))
end

---The only level whose lines may contain text of buffers.
---@param message string
---@param ... any
function M.trace(message, ...)
  pcall(log, "trace", message, ...)
end

---@param message string
---@param ... any
function M.debug(message, ...)
  pcall(log, "debug", message, ...)
end

---@param message string
---@param ... any
function M.info(message, ...)
  pcall(log, "info", message, ...)
end

---@param message string
---@param ... any
function M.warn(message, ...)
  pcall(log, "warn", message, ...)
end

---@param message string
---@param ... any
function M.error(message, ...)
  pcall(log, "error", message, ...)
end

return M
