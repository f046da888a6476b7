-- What the library is built from, as one hash: the library says which sources it was made of, and those beside it may be
-- others after an update whose build failed. `crates/nvim/build.rs` computes the same: change both.
-- Reading all of them takes some ten milliseconds. The library says what the files looked like (size, time, inode) when it was
-- built, too; and where they are others with the same text (a copy, a checkout) their hash is kept with how those look.

local M = {}

local bit = require("bit")

---@class claude-ide.library_hash.Cache
---@field root string
---@field hash string
---@field keys table<string, string> of the files, and of the folders, where new ones would show

---@param path string
---@return string
local function key_of(path)
  local stat = vim.uv.fs_stat(path)
  return stat and require("claude-ide.buffer.stamp").key(stat) or "none"
end

-- What the library is compiled from: Rust, and the page that it serves.
local KINDS = { rs = true, html = true, css = true, js = true }

---@param folder string
---@return fun(): string?, string?
local function entries(folder)
  local found = vim.uv.fs_scandir(folder)
  return function()
    if found then
      return vim.uv.fs_scandir_next(found)
    end
  end
end

---@param folder string
---@param files string[]
---@param folders string[]
local function collect(folder, files, folders)
  folders[#folders + 1] = folder
  for name, kind in entries(folder) do
    if kind == "directory" then
      collect(folder .. "/" .. name, files, folders)
    elseif KINDS[name:match("%.(%w+)$")] then
      files[#files + 1] = folder .. "/" .. name
    end
  end
end

---@param root string
---@return string[] files
---@return string[] folders
local function list(root)
  local files, folders = {}, { root .. "/crates" }
  for _, name in ipairs({ "/Cargo.toml", "/Cargo.lock" }) do
    files[#files + 1] = root .. name
  end
  for name, kind in entries(root .. "/crates") do
    local member = root .. "/crates/" .. name
    if kind == "directory" then
      folders[#folders + 1] = member
      for _, file in ipairs({ "/Cargo.toml", "/build.rs" }) do
        files[#files + 1] = vim.uv.fs_stat(member .. file) and member .. file or nil
      end
      collect(member .. "/src", files, folders)
    end
  end
  collect(root .. "/web", files, folders)
  table.sort(files)
  return files, folders
end

---FNV-1a over words of four bytes.
---@param hash integer
---@param bytes string
---@return integer
local function update(hash, bytes)
  local bxor, lshift, tobit, byte = bit.bxor, bit.lshift, bit.tobit, string.byte
  ---Times 16777619, in steps that a double holds.
  local function mix(word)
    hash = bxor(hash, word)
    hash = tobit(hash * 403 + lshift(hash, 24))
  end
  local whole = #bytes - #bytes % 4
  for index = 1, whole, 4 do
    local one, two, three, four = byte(bytes, index, index + 3)
    mix(one + two * 0x100 + three * 0x10000 + lshift(four, 24))
  end
  for index = whole + 1, #bytes do
    mix(byte(bytes, index))
  end
  return hash
end

---Larger is no source.
local MAX_BYTES = 64 * 1024 * 1024

---@param path string
---@return string?
local function read(path)
  return (require("claude-ide.file").read_now(path, MAX_BYTES))
end

---@param root string
---@param files string[]
---@return string? hash nil: a file cannot be read
local function hash_of(root, files)
  local hash = bit.tobit(0x811c9dc5)
  for _, path in ipairs(files) do
    local text = read(path)
    if not text then
      return nil
    end
    hash = update(hash, path:sub(#root + 2) .. "\0" .. text .. "\0")
  end
  return bit.tohex(hash)
end

---@param root string
---@param files string[]
---@return string hash of what they look like
local function look_of(root, files)
  local hash = bit.tobit(0x811c9dc5)
  for _, path in ipairs(files) do
    hash = update(hash, ("%s\0%s\n"):format(path:sub(#root + 2), key_of(path)))
  end
  return bit.tohex(hash)
end

---@return string
local function cache_path()
  return vim.fn.stdpath("cache") .. "/claude-ide/sources.json"
end

---@param root string
---@return string? hash
local function cached(root)
  local text = read(cache_path())
  local ok, cache = pcall(vim.json.decode, text or "")
  if not ok or type(cache) ~= "table" or cache.root ~= root or type(cache.keys) ~= "table" then
    return nil
  end
  for path, key in pairs(cache.keys) do
    if key_of(path) ~= key then
      return nil
    end
  end
  return type(cache.hash) == "string" and cache.hash or nil
end

---@param cache claude-ide.library_hash.Cache
local function remember(cache)
  local path = cache_path()
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  require("claude-ide.file").replace_private(path, vim.json.encode(cache))
end

---@param root string
---@return boolean
local function has_sources(root)
  return vim.uv.fs_stat(root .. "/Cargo.lock") ~= nil and vim.uv.fs_stat(root .. "/crates") ~= nil
end

---Whether the sources below a folder are the very files that a library was built from, untouched since.
---@param root string
---@param seen string what the library says
---@return boolean
function M.untouched(root, seen)
  return has_sources(root) and look_of(root, (list(root))) == seen
end

---The hash of the sources below a folder.
---@param root string
---@return string? hash nil where there are none: the library came without them
function M.hash(root)
  if not has_sources(root) then
    return nil
  end
  local known = cached(root)
  if known then
    return known
  end
  local files, folders = list(root)
  local keys = {} ---@type table<string, string>
  for _, path in ipairs(vim.list_extend(folders, files)) do
    keys[path] = key_of(path)
  end
  local hash = hash_of(root, files)
  if hash then
    pcall(remember, { root = root, hash = hash, keys = keys })
  end
  return hash
end

return M
