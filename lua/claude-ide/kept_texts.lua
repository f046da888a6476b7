-- Texts kept for later in a file without a name: it goes with this Neovim, nobody else can open or change it, and it takes
-- none of this Neovim's own memory. Where there is no room for the file they are kept in memory.
local M = {}

---The file; false: there can be none.
---@type integer|false|nil
local fd
local size = 0

---@return integer|false
local function open()
  if fd == nil then
    local path = vim.fn.tempname()
    fd = vim.uv.fs_open(path, "wx+", 384) or false -- 0600
    if fd then
      vim.uv.fs_unlink(path)
    end
  end
  return fd
end

---Keeps a text.
---@param text string
---@return fun(): string? read
function M.keep(text)
  local file, at = open(), size
  if not file or vim.uv.fs_write(file, text, at) ~= #text then
    return function()
      return text
    end
  end
  local length = #text
  size = size + length
  return function()
    local read = vim.uv.fs_read(file, length, at)
    return read and #read == length and read or nil
  end
end

return M
