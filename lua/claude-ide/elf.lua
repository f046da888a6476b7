-- Whether a library was written to its end. To load one that was not ends Neovim with SIGBUS: the loader maps what the
-- header promises. Only ELF: macOS looks itself.

local M = {}

local ELF, HEADER = "\127ELF", 64

---@param at integer 0-based
---@param big boolean most significant byte first
local function number(bytes, at, size, big)
  local value = 0
  for index = 0, size - 1 do
    value = value * 256 + bytes:byte(at + (big and index or size - 1 - index) + 1)
  end
  return value
end

---Where the table of sections ends, which linkers write last.
local function promised(header)
  local wide, big = header:byte(5) == 2, header:byte(6) == 2
  if wide then
    return number(header, 0x28, 8, big) + number(header, 0x3A, 2, big) * number(header, 0x3C, 2, big)
  end
  return number(header, 0x20, 4, big) + number(header, 0x2E, 2, big) * number(header, 0x30, 2, big)
end

---@param path string
---@return boolean whole true also for what is no ELF file: that is the loader's to refuse
function M.is_whole(path)
  local header, stat = require("claude-ide.file").read_start(path, HEADER), vim.uv.fs_stat(path)
  if not header or not stat then
    return true
  end
  if #header < HEADER then
    return false
  end
  return header:sub(1, 4) ~= ELF or stat.size >= promised(header)
end

return M
