-- The bytes of files, at once or in the background. Bounded: what is too large is not read.
local M = {}

---@alias claude-ide.file.WhyNot "missing"|"large"|"unreadable"

---@param err? string of libuv
---@return claude-ide.file.WhyNot
local function why_not_opened(err)
  local missing = (err or ""):find("^ENOENT") or (err or ""):find("^ENOTDIR")
  return missing and "missing" or "unreadable"
end

---@param stat? uv.fs_stat.result
---@param max_bytes integer
---@return claude-ide.file.WhyNot?
local function why_not_read(stat, max_bytes)
  if not stat or stat.type ~= "file" then
    return "unreadable"
  end
  return stat.size > max_bytes and "large" or nil
end

---Reads a regular file at once. For what must be known before something else may happen; anything else reads later.
---@param path string
---@param max_bytes integer
---@return string? bytes
---@return claude-ide.file.WhyNot? why_not
---@return uv.fs_stat.result? stat of the open file
---@return string? err in the system's words, where it has any
function M.read_now(path, max_bytes)
  local fd, err = vim.uv.fs_open(path, "r", 0)
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

---Reads the start of a file at once, also of one that has no size (of /proc).
---@param path string
---@param max_bytes integer
---@return string? bytes nil: it cannot be read
function M.read_start(path, max_bytes)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local bytes = file:read(max_bytes)
  file:close()
  return bytes or ""
end

---Reads a regular file in the background, for whoever goes on in a fast event.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?, stat: uv.fs_stat.result?) once, within a fast event
function M.read_in_fast_event(path, max_bytes, done)
  vim.uv.fs_open(path, "r", 0, function(err, fd)
    if not fd then
      return done(nil, why_not_opened(err))
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      local function close(bytes, why_not)
        vim.uv.fs_close(fd, function() end)
        done(bytes, why_not, stat)
      end
      local why_not = why_not_read(stat, max_bytes)
      if not stat or why_not then
        return close(nil, why_not)
      end
      vim.uv.fs_read(fd, stat.size, 0, function(_, bytes)
        close(bytes, not bytes and "unreadable" or nil)
      end)
    end)
  end)
end

---Reads a regular file in the background.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?) on the main loop, once
function M.read_later(path, max_bytes, done)
  M.read_in_fast_event(path, max_bytes, vim.schedule_wrap(done))
end

return M
