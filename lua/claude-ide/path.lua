-- Paths and file URIs, as text. Owns how two paths are compared.
-- Invariant: a path is a string of bytes. Nothing in it is a pattern, a variable, `~` or an escape, and its Unicode form is
-- left as it came: what the file system takes for two names are two names here.
local M = {}

---What stands before the path in a URI; the last two are how the CLI writes the two sides of a diff (`_claude_fs_right:/abs/path`), beside plain files.
local PREFIXES = { "file://localhost", "file://", "_claude_fs_right:", "_claude_fs_left:" }

local known_cwd ---@type string?

---The current directory. One that was removed while Neovim is in it has no name any more: the one that it had last.
---@return string
function M.cwd()
  known_cwd = vim.uv.cwd() or known_cwd or (vim.uv.os_getenv("PWD") or ""):match("^/.*") or "/"
  return known_cwd
end

---The absolute form, without `.`, `..`, doubled or final slashes. Does not look at the disk: symbolic links stay.
---@param path string absolute, or relative to the current directory
---@return string
function M.normalize(path)
  if path:sub(1, 1) ~= "/" then
    path = M.cwd() .. "/" .. path
  end
  if not (path:find("//", 1, true) or path:find("/.", 1, true) or path:sub(-1) == "/") then
    return path
  end
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return "/" .. table.concat(parts, "/")
end

---The absolute form with every symbolic link followed. Where the end of the path does not exist, the part that does is
---followed and the rest is kept.
---@param path string
---@return string
function M.real(path)
  local head, tail = M.normalize(path), ""
  while head ~= "/" do
    local real = vim.uv.fs_realpath(head)
    if real then
      return (real == "/" and tail ~= "") and tail or real .. tail
    end
    local name = vim.fs.basename(head)
    head, tail = vim.fs.dirname(head), "/" .. name .. tail
  end
  return tail == "" and "/" or tail
end

---Whether a path is `root` or lies below it. Compares text: pass both through `M.real` where links matter.
---@param path string
---@param root string
---@return boolean
function M.within(path, root)
  path, root = M.normalize(path), M.normalize(root)
  if root == "/" or path == root then
    return true
  end
  return path:sub(1, #root + 1) == root .. "/"
end

---A path as seen from `root`, or the absolute path where it lies elsewhere. `root` itself is ".".
---@param path string
---@param root? string default: the current directory
---@return string
function M.relative(path, root)
  path, root = M.normalize(path), M.normalize(root or M.cwd())
  if path == root then
    return "."
  elseif not M.within(path, root) then
    return path
  end
  return path:sub(root == "/" and 2 or #root + 2)
end

---Whether a name is one on the disk, not `oil://…`, `term://…` or a URL.
---@param name string
---@return boolean
function M.is_plain(name)
  return name ~= "" and not name:find("^%a[%w+.-]+://")
end

---The path that a URI of a client means, or nil for one of another scheme.
---The CLI sends `file://` and the raw path, other clients escape it: the raw reading counts if there is such a file, else
---the unescaped one if there is such a file, else the raw one.
---@param uri string
---@return string? path
function M.from_uri(uri)
  local path = uri
  for _, prefix in ipairs(PREFIXES) do
    if vim.startswith(uri, prefix .. "/") then
      path = uri:sub(#prefix + 1)
      break
    end
  end
  if path:sub(1, 1) ~= "/" or path:find("\0", 1, true) then
    return nil
  end
  if path:find("%%%x%x") and not vim.uv.fs_lstat(path) then
    local unescaped = path:gsub("%%(%x%x)", function(hex)
      return string.char(tonumber(hex, 16) --[[@as integer]])
    end)
    if not unescaped:find("\0", 1, true) and vim.uv.fs_lstat(unescaped) then
      path = unescaped
    end
  end
  return M.normalize(path)
end

---The URI of a path, unescaped as the CLI writes and compares it.
---@param path string absolute
---@return string
function M.to_uri(path)
  return "file://" .. path
end

return M
