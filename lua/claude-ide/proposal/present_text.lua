-- The present text of a file: what the left side of a diff shows. Reads the disk off the main loop.
local M = {}

---More than any message can hold; larger files are not read.
M.MAX_BYTES = 256 * 1024 * 1024

---@class claude-ide.proposal.Disk
---@field stat? table as `vim.uv.fs_stat` gives it; nil: there is no such file
---@field bytes? string nil: there is no such file, or it could not be read
---@field problem? string why it could not be read, for the user

---@class claude-ide.proposal.Now
---@field lines string[]
---@field format claude-ide.bytes.Format
---@field against "disk"|"buffer"|"text"|"nothing" buffer: it has unsaved changes and the diff is against those; text: a buffer's, whatever is on the disk
---@field disk claude-ide.proposal.Disk
---@field buf? integer the loaded buffer of the file

---Reads a file. `done` is called on the main loop.
---@param path string absolute
---@param done fun(disk: claude-ide.proposal.Disk)
function M.read(path, done)
  require("claude-ide.file").read_later(path, M.MAX_BYTES, function(bytes, why_not, stat, err)
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
  local format = require("claude-ide.buffer.format").of(buf)
  return {
    lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
    format = {
      bom = format.bomb,
      eol = require("claude-ide.buffer.bytes").EOLS[format.fileformat],
      final = format.endofline and not format.empty,
      empty = format.empty,
    },
    against = "buffer",
    disk = disk,
    buf = buf,
  }
end

---The text of a buffer, as what an edit of that buffer is for.
---@param buf integer loaded
---@return claude-ide.proposal.Now
function M.of_base(buf)
  local now = of_buffer(buf, {})
  now.against = "text"
  return now
end

---What the file holds now for the user: its buffer's text where that has unsaved changes, else the disk's.
---@param path string absolute
---@param disk claude-ide.proposal.Disk
---@return claude-ide.proposal.Now
function M.present(path, disk)
  local buf = require("claude-ide.buffer").find(path)
  if buf and not vim.api.nvim_buf_is_loaded(buf) then
    buf = nil
  end
  if buf and vim.bo[buf].modified then
    return of_buffer(buf, disk)
  end
  local bytes = require("claude-ide.buffer.bytes").text(disk.bytes or "")
  local encoding = bytes:find("^\255\254") and "utf-16le" or bytes:find("^\254\255") and "utf-16be"
  if encoding then
    local text = vim.iconv(bytes:sub(3), encoding, "utf-8")
    bytes = text and "\239\187\191" .. text or bytes -- its byte order mark is in the proposal, too
  end
  local lines, format = require("claude-ide.buffer.bytes").decode(bytes)
  return {
    lines = lines,
    format = format,
    against = disk.bytes and "disk" or "nothing",
    disk = disk,
    buf = buf,
  }
end

---Whether the proposal makes the file.
---@param now claude-ide.proposal.Now
---@return boolean
function M.is_new(now)
  return now.against == "nothing" and not now.disk.problem
end

return M
