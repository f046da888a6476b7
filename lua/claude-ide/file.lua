-- The bytes of files, at once or in the background. Bounded: what is too large is not read. And small files of ours, written
-- for their owner alone.
local M = {}

---Without O_NONBLOCK opening a pipe waits until somebody writes to it.
local TO_READ = bit.bor(vim.uv.constants.O_RDONLY, vim.uv.constants.O_NONBLOCK)
local OWNER_ONLY = 384 -- 0600

---How often a file may grow while it is read before what was there has to do.
local MAX_ROUNDS = 3

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

---Reads a regular file in the background, for whoever goes on in a fast event. One that grows meanwhile is read again.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?, stat: uv.fs_stat.result?, err: string?) once, within a fast event; err: in the system's words, where it has any
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

---Bytes of a large file that are looked at together.
local PIECE = 512 * 1024

---Some lines out of pieces of a text.
---@param first integer from 1
---@param count number
---@return fun(piece: string): part: string, is_over: boolean
local function lines_out_of(first, count)
  local before = first - 1
  return function(piece)
    local from = 1
    while before > 0 do
      local stop = piece:find("\n", from, true)
      if not stop then
        return "", false
      end
      from, before = stop + 1, before - 1
    end
    local last = from - 1
    while count > 0 and last < #piece do
      local stop = piece:find("\n", last + 1, true)
      last, count = stop or #piece, stop and count - 1 or count
    end
    return piece:sub(from, last), count <= 0
  end
end

---Reads some lines of a regular file in the background, a piece at a time, however large it is.
---@param path string
---@param first integer from 1
---@param count number `math.huge`: all that there are
---@param max_bytes integer of these lines
---@param done fun(bytes: string?, why_not: claude-ide.file.WhyNot?, stat: uv.fs_stat.result?, err: string?) on the main loop, once
function M.read_lines_later(path, first, count, max_bytes, done)
  done = vim.schedule_wrap(done)
  vim.uv.fs_open(path, TO_READ, 0, function(err, fd)
    if not fd then
      return done(nil, why_not_opened(err), nil, err)
    end
    local take, parts, size, offset = lines_out_of(first, count), {}, 0, 0
    vim.uv.fs_fstat(fd, function(_, stat)
      local function close(bytes, why_not, problem)
        vim.uv.fs_close(fd, function() end)
        done(bytes, why_not, stat, problem)
      end
      local function go_on()
        vim.uv.fs_read(fd, PIECE, offset, function(problem, piece)
          if not piece then
            return close(nil, "unreadable", problem)
          end
          offset = offset + #piece
          local part, is_over = take(piece)
          parts[#parts + 1], size = part, size + #part
          if size > max_bytes then
            close(nil, "large")
          elseif is_over or piece == "" then
            close(table.concat(parts))
          else
            go_on()
          end
        end)
      end
      if not stat or stat.type ~= "file" then
        return close(nil, "unreadable")
      end
      go_on()
    end)
  end)
end

---Writes a file that only its owner can read.
---@param path string
---@param text string
---@param is_new boolean there must be none yet
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

return M
