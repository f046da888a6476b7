-- The bytes of files, at once or in the background. Bounded: what is too large is not read.
local M = {}

---Reads a regular file at once. For what must be known before something else may happen; anything else reads later.
---@param path string
---@param max_bytes integer
---@return string? bytes
---@return "missing"|"large"|"unreadable"? why_not
function M.read_now(path, max_bytes)
  local fd, _, code = vim.uv.fs_open(path, "r", 0)
  if not fd then
    return nil, (code == "ENOENT" or code == "ENOTDIR") and "missing" or "unreadable"
  end
  local stat = vim.uv.fs_fstat(fd)
  local bytes
  if stat and stat.type == "file" and stat.size <= max_bytes then
    bytes = vim.uv.fs_read(fd, stat.size, 0)
  end
  vim.uv.fs_close(fd)
  if bytes then
    return bytes
  end
  return nil, stat and stat.type == "file" and stat.size > max_bytes and "large" or "unreadable"
end

---Reads a regular file in the background.
---@param path string
---@param max_bytes integer
---@param done fun(bytes: string?, why_not: "missing"|"large"|"unreadable"?) on the main loop, once
function M.read_later(path, max_bytes, done)
  local finish = vim.schedule_wrap(done)
  vim.uv.fs_open(path, "r", 0, function(err, fd)
    if not fd then
      local missing = (err or ""):find("^ENOENT") or (err or ""):find("^ENOTDIR")
      return finish(nil, missing and "missing" or "unreadable")
    end
    local function close(bytes, why_not)
      vim.uv.fs_close(fd, function() end)
      finish(bytes, why_not)
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      if not stat or stat.type ~= "file" then
        return close(nil, "unreadable")
      elseif stat.size > max_bytes then
        return close(nil, "large")
      end
      vim.uv.fs_read(fd, stat.size, 0, function(_, bytes)
        close(bytes, not bytes and "unreadable" or nil)
      end)
    end)
  end)
end

return M
