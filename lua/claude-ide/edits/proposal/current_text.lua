-- The current text of a file, for the left side of a diff. Reads the disk off the main loop.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local file = lazy("claude-ide.base.file")

local M = {}

---Larger files are not read, and fit in no message.
M.MAX_BYTES = 256 * 1024 * 1024

---@class claude-ide.proposal.Disk
---@field stat? table of `vim.uv.fs_stat`; nil: no such file
---@field bytes? string nil: no such file, or unreadable
---@field problem? string why it is unreadable, for the user

---@class claude-ide.proposal.Now
---@field lines string[]
---@field format claude-ide.bytes.Format
---@field against "disk"|"buffer"|"text"|"nothing" buffer: unsaved changes of the file; text: a buffer's text, whatever is on disk
---@field disk claude-ide.proposal.Disk
---@field buf? integer loaded buffer of the file
---@field is_past? boolean the file has changed on disk since

---Reads a file. `done` is called on the main loop.
---@param path string absolute
---@param done fun(disk: claude-ide.proposal.Disk)
function M.read(path, done)
  file.read_later(path, M.MAX_BYTES, function(bytes, why_not, stat, err)
    local problem = err
    if why_not == "missing" then
      problem = nil
    elseif stat and stat.type ~= "file" then
      problem = "not a file but a " .. stat.type
    elseif why_not == "large" then
      problem = "too large to be shown"
    end
    done({ stat = stat, bytes = bytes, problem = problem })
  end)
end

---@param buf integer
---@return claude-ide.proposal.Now
local function of_buffer(buf, disk)
  local format = buffer_format.of(buf)
  format.final = format.final and not format.empty
  return {
    lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
    format = format,
    against = "buffer",
    disk = disk,
    buf = buf,
  }
end

---The text of a buffer, as the base of an edit of that buffer.
---@param buf integer loaded
---@return claude-ide.proposal.Now
function M.of_base(buf)
  local now = of_buffer(buf, {})
  now.against = "text"
  return now
end

---The current text of a file: its buffer's if modified, else the disk's.
---@param path string absolute
---@param disk claude-ide.proposal.Disk
---@return claude-ide.proposal.Now
function M.present(path, disk)
  local buf = buffer.loaded(path)
  if buf and vim.bo[buf].modified then
    return of_buffer(buf, disk)
  end
  local lines, format = buffer_bytes.decode((buffer_bytes.text(disk.bytes or "")))
  return {
    lines = lines,
    format = format,
    against = disk.bytes and "disk" or "nothing",
    disk = disk,
    buf = buf,
  }
end

---Whether the proposal creates the file.
---@param now claude-ide.proposal.Now
---@return boolean
function M.is_new(now)
  return now.against == "nothing" and not now.disk.problem
end

return M
