-- Reads files with a size limit, synchronously or in the background, and writes small private files.
local M = {}

---Without O_NONBLOCK opening a pipe blocks until it has a writer.
local TO_READ = bit.bor(vim.uv.constants.O_RDONLY, vim.uv.constants.O_NONBLOCK)
local OWNER_ONLY = 384 -- 0600

---Maximum number of reads of a file that grows meanwhile.
local MAX_ROUNDS = 3

---@alias claude-ide.file.WhyNot "missing"|"large"|"unreadable"

---@param err? string of libuv
---@return claude-ide.file.WhyNot
local function why_not_opened(err)
  local missing = (err or ""):find("^ENOENT") or (err or ""):find("^ENOTDIR")
  return missing and "missing" or "unreadable"
end

---@param stat? uv.fs_stat.result
---@return claude-ide.file.WhyNot?
local function why_not_read(stat, max_bytes)
  if not stat or stat.type ~= "file" then
    return "unreadable"
  end
  return stat.size > max_bytes and "large" or nil
end

---Pseudo file systems whose files have no size and may be endless: procfs, tracefs, debugfs.
local MADE_UP = { [0x9fa0] = true, [0x74726163] = true, [0x64626720] = true }

---What tells one state of a file from another, as far as the file system does.
---@param stat? uv.fs_stat.result
---@return string? nil: there is no file
function M.key(stat)
  return stat and ("%d.%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino) or nil
end

---The kernel's clock for file times lags by at most one tick.
M.TICK_MS = 20

---When a file last changed, which no program can set.
---@param stat uv.fs_stat.result
---@return number milliseconds since the epoch
function M.changed_at(stat)
  return stat.ctime.sec * 1000 + stat.ctime.nsec / 1e6
end

---@param path string
---@return string? key nil: there is no file
function M.key_now(path)
  return M.key(vim.uv.fs_stat(path))
end

---Whether a path is a regular file. Check this before Neovim reads it into a buffer: it would hang on a pipe, a device or /proc/kmsg.
---@param path string
---@return uv.fs_stat.result? stat
---@return string? why_not for the user
---@return boolean? is_missing
function M.stat_regular(path)
  local stat, err = vim.uv.fs_stat(path)
  if not stat then
    local is_missing = why_not_opened(err) == "missing"
    return nil, is_missing and "no such file" or err, is_missing
  elseif stat.type ~= "file" then
    return nil, "not a file but a " .. stat.type
  end
  local system = stat.size == 0 and vim.uv.fs_statfs(path)
  if system and MADE_UP[system.type] then
    return nil, "not a file on a disk"
  end
  return stat
end

---Reads a regular file synchronously, for data that is needed immediately. Otherwise use `read_later`.
---@param path string
---@param max_bytes integer
---@return string? bytes
---@return claude-ide.file.WhyNot? why_not
---@return uv.fs_stat.result? stat of the open file
---@return string? err of the system
function M.read_now(path, max_bytes)
  local fd, err = vim.uv.fs_open(path, TO_READ, 0)
  if not fd then
    return nil, why_not_opened(err), nil, err
  end
  local stat = vim.uv.fs_fstat(fd)
  local why_not, bytes, problem = why_not_read(stat, max_bytes), nil, nil
  if stat and not why_not then
    bytes, problem = vim.uv.fs_read(fd, stat.size, 0)
  end
  vim.uv.fs_close(fd)
  if bytes then
    return bytes, nil, stat
  end
  return nil, why_not or "unreadable", stat, problem
end

---Whether there is no file at a path that could not be read: nothing, or another kind of thing.
---@param path string
---@param why_not claude-ide.file.WhyNot?
---@return boolean
function M.is_none(path, why_not)
  local stat = why_not == "unreadable" and vim.uv.fs_stat(path) or nil
  return why_not == "missing" or (stat ~= nil and stat.type ~= "file")
end

---Reads the beginning of a regular file synchronously, also of one without a size (/proc).
---@param path string
---@param max_bytes integer
---@return string? bytes nil: unreadable
function M.read_start(path, max_bytes)
  local fd = vim.uv.fs_open(path, TO_READ, 0)
  local stat = fd and vim.uv.fs_fstat(fd)
  local parts = stat and stat.type == "file" and {} or nil
  local wanted = parts and max_bytes or 0
  while fd and parts and wanted > 0 do
    local part = vim.uv.fs_read(fd, wanted) or ""
    parts[#parts + 1] = part
    wanted = part == "" and 0 or wanted - #part
  end
  if fd then
    vim.uv.fs_close(fd)
  end
  return parts and table.concat(parts)
end

---Reads a regular file in the background, with a callback in a fast event. A file that grows meanwhile is read again.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?, stat: uv.fs_stat.result?, err: string?) once, in a fast event; err: of the system
---@param round? integer
function M.read_in_fast_event(path, max_bytes, done, round)
  round = round or 1
  vim.uv.fs_open(path, TO_READ, 0, function(err, fd)
    if not fd then
      vim.uv.fs_stat(path, function(_, stat)
        done(nil, why_not_opened(err), stat, err)
      end)
      return
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      local function close(bytes, why_not, problem)
        vim.uv.fs_close(fd, function() end)
        done(bytes, why_not, stat, problem)
      end
      local why_not = why_not_read(stat, max_bytes)
      if not stat or why_not then
        return close(nil, why_not)
      end
      vim.uv.fs_read(fd, stat.size + 1, 0, function(problem, bytes)
        if bytes and #bytes > stat.size and round < MAX_ROUNDS then
          vim.uv.fs_close(fd, function() end)
          return M.read_in_fast_event(path, max_bytes, done, round + 1)
        end
        close(bytes and bytes:sub(1, stat.size), not bytes and "unreadable" or nil, problem)
      end)
    end)
  end)
end

---Reads a regular file in the background.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?, stat: uv.fs_stat.result?, err: string?) on the main loop, once
function M.read_later(path, max_bytes, done)
  M.read_in_fast_event(path, max_bytes, vim.schedule_wrap(done))
end

---Writes a file that only its owner can read.
---@param path string
---@param text string
---@param is_new boolean fail if it exists
---@return boolean ok
function M.write_private(path, text, is_new)
  local fd = vim.uv.fs_open(path, is_new and "wx" or "w", OWNER_ONLY)
  if not fd then
    return false
  end
  local written = vim.uv.fs_write(fd, text, 0)
  vim.uv.fs_close(fd)
  return written == #text
end

---Mode of a folder that only its owner can read.
M.PRIVATE = "0o700"

---Makes a folder, and those above it. Another thread or Neovim may make one at the same time, which `mkdir()` takes for an error.
---@param path string
---@param mode? string default: 0755
---@return boolean ok
---@return any err
function M.make_folder(path, mode)
  local function make()
    return pcall(vim.fn.mkdir, path, "p", mode or "0o755")
  end
  local ok, err = make()
  if not ok then
    ok, err = make()
  end
  return ok, err
end

---Replaces a file by rename, so that no reader sees a part of it.
---@param path string
---@param text string
---@param mode? integer permissions; default: only its owner can read it
---@return boolean ok
function M.replace(path, text, mode)
  local temporary = ("%s.%d.tmp"):format(path, vim.uv.os_getpid())
  local ok = M.write_private(temporary, text, true)
    and (not mode or vim.uv.fs_chmod(temporary, mode))
    and vim.uv.fs_rename(temporary, path)
  if not ok then
    vim.uv.fs_unlink(temporary)
  end
  return ok == true
end

---Writes a temporary file that only its owner can read.
---@param suffix string
---@param text string
---@return string? path
function M.private(suffix, text)
  local path = vim.fn.tempname() .. suffix
  return M.write_private(path, text, true) and path or nil
end

return M
