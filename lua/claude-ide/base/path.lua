-- Normalises and compares paths and file URIs, as text.
-- Invariant: a path is a string of bytes. Patterns, variables, `~` and escapes in it have no meaning, and its Unicode form is kept:
-- names that differ for the file system differ here.
local M = {}

---Prefixes of URIs; the last two are the CLI's for the sides of a diff (`_claude_fs_right:/abs/path`).
local PREFIXES = { "file://localhost", "file://", "_claude_fs_right:", "_claude_fs_left:" }

local known_cwd ---@type string?

---The current directory, or its last name if it was deleted.
---@return string
function M.cwd()
  known_cwd = vim.uv.cwd() or known_cwd or (vim.uv.os_getenv("PWD") or ""):match("^/.*") or "/"
  return known_cwd
end

---The absolute path without `.`, `..`, and redundant slashes. Does not read the disk: symbolic links stay.
---@param path string absolute, or relative to the folder
---@param folder? string absolute; default: the current directory
---@return string
function M.normalize(path, folder)
  if path:sub(1, 1) ~= "/" then
    path = (folder or M.cwd()) .. "/" .. path
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

---The absolute path with symbolic links resolved. If it does not exist, its existing part is resolved.
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

---Whether a path is `root` or below it. Compares text: use `M.real` on both if links matter.
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

---A path relative to `root`, or absolute if it is elsewhere. `root` itself is ".".
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

---A path for the user: relative to the current directory or the home, if it is below.
---@param path string absolute
---@return string
function M.short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---Whether a name is a file system path, not `oil://…`, `term://…` or a URL.
---@param name string
---@return boolean
function M.is_plain(name)
  return name ~= "" and not name:find("^%a[%w+.-]+://")
end

---The path of a client's URI; nil for another scheme.
---The CLI sends `file://` and the raw path, other clients escape it. Of the raw and the unescaped path, in this order, the first that
---exists counts, else the raw one.
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

---The URI of a path, unescaped like the CLI's.
---@param path string absolute
---@return string
function M.to_uri(path)
  return "file://" .. path
end

return M
