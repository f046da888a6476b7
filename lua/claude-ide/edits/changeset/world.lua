-- Reads the files of a changeset: a loaded buffer's text, else the file on disk.
-- Invariant: files outside of the workspace and files withheld by the user are neither read nor proposed.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local disk = lazy("claude-ide.editor.buffer.disk")
local file = lazy("claude-ide.base.file")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local text_edits = lazy("claude-ide.edits.changeset.text_edits")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Larger files are refused: comparing them takes too long.
local MAX_BYTES = 4 * 1024 * 1024

---Limit for a folder that is moved or deleted.
local MAX_FILES = 1000

local ANY_WRITE = 146 -- 0222

local short = require("claude-ide.base.path").short

---Why a file may not be edited.
---@param path string absolute
---@return string? err a sentence without a full stop
function M.refused(path)
  local real = paths.real(path)
  local inside = vim.iter(workspace.folders()):any(function(folder)
    return paths.within(real, paths.real(folder))
  end)
  if not inside then
    return ("%s is outside of the workspace"):format(path)
  end
  local buf = buffer.find(path)
  if privacy.denied_by(path) or buf and buffer.is_private(buf) then
    return ("%s is private"):format(short(path))
  end
end

---@param buf integer
---@return claude-ide.changeset.Text
function M.of_buffer(buf)
  local format = buffer_format.of(buf)
  -- The file's own state, whatever 'fixendofline' does on write.
  format.final = vim.bo[buf].endofline and not format.empty
  return { lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false), format = format }
end

---@param stat? uv.fs_stat.result
---@return string?
local function node_of(stat)
  return stat and ("%d %d"):format(stat.dev, stat.ino) or nil
end

---@param path string
---@param buf integer loaded
---@param stat? uv.fs_stat.result
---@return claude-ide.changeset.Source?
---@return string? err
local function from_buffer(path, buf, stat)
  local bo = vim.bo[buf]
  if not bo.modified then
    local _, why_not = disk.reload(buf)
    if why_not and why_not ~= "no file" then
      return nil, ("%s cannot be read again: %s"):format(short(path), why_not)
    end
  elseif stat and stamp.is_conflict(buf) then
    return nil,
      ("%s has unsaved changes of an older text: resolve that first (`:Claude resolve`)"):format(short(path))
  end
  local bytes ---@type string?
  if stat then
    bytes = file.read_now(path, MAX_BYTES)
  end
  return {
    path = path,
    text = M.of_buffer(buf),
    bytes = bytes,
    buf = buf,
    unsaved = bo.modified,
    tick = vim.api.nvim_buf_get_changedtick(buf),
    version = vim.lsp.util.buf_versions[buf],
    mode = stat and stat.mode % 4096,
    node = node_of(stat),
  }
end

---@param bytes string
---@return boolean UTF-8 without NUL bytes
local function is_text(bytes)
  local is_utf8 = position.valid(bytes) == bytes
  return is_utf8 and not bytes:find("%z")
end

---@param path string absolute
---@return claude-ide.changeset.Source? nil without an error: no such file
---@return string? err
function M.read(path)
  local err = M.refused(path)
  if err then
    return nil, err
  end
  local stat = vim.uv.fs_stat(path)
  if stat and stat.type ~= "file" then
    return nil, short(path) .. " is not a file"
  elseif stat and bit.band(stat.mode, ANY_WRITE) == 0 then
    return nil, short(path) .. " is read-only"
  elseif stat and stat.size > MAX_BYTES then
    return nil, short(path) .. " is too large"
  end
  local buf = buffer.loaded(path)
  if buf and (stat or vim.bo[buf].modified) then
    return from_buffer(path, buf, stat)
  elseif not stat then
    return nil
  end
  local bytes, why_not = file.read_now(path, MAX_BYTES)
  if not bytes then
    return nil, ("%s cannot be read: %s"):format(short(path), why_not)
  elseif not is_text(bytes) then
    -- Neovim converts the encoding; the edit applies to its buffer.
    buf = hidden.load(path)
    if not buf then
      return nil, short(path) .. " is in an encoding that cannot be read"
    end
    return from_buffer(path, buf, stat)
  end
  local lines, format = buffer_bytes.decode(bytes)
  return {
    path = path,
    text = { lines = lines, format = format },
    bytes = bytes,
    unsaved = false,
    mode = stat.mode % 4096,
    node = node_of(stat),
  }
end

---The files in a folder, recursively.
---@param folder string absolute
---@return string[]? files nil without an error: not a folder
---@return string? err
function M.list(folder)
  local stat = vim.uv.fs_stat(folder)
  if not stat or stat.type ~= "directory" then
    return nil
  end
  local found = {} ---@type string[]
  for name, kind in vim.fs.dir(folder, { depth = 32 }) do
    if kind ~= "directory" then
      found[#found + 1] = folder .. "/" .. name
    end
    if #found > MAX_FILES then
      return nil, ("%s holds more than %d files"):format(short(folder), MAX_FILES)
    end
  end
  return found
end

---What a file is like now, to tell later whether it has changed: its buffer's tick, else its state on disk.
---@param path string
---@return string
function M.stamp(path)
  local buf = buffer.loaded(path)
  if buf and vim.bo[buf].modified then
    return ("buffer %d %d"):format(buf, vim.api.nvim_buf_get_changedtick(buf))
  end
  return "disk " .. (file.key_now(path) or "none")
end

---Whether a file is still as read.
---@param source claude-ide.changeset.Source
---@return boolean
function M.is_unchanged(source)
  local buf = buffer.loaded(source.path)
  if source.unsaved then
    return buf ~= nil
      and buf == source.buf
      and text_edits.same(M.of_buffer(buf --[[@as integer]]), source.text)
  elseif buf and vim.bo[buf].modified then
    return false
  end
  return file.read_now(source.path, MAX_BYTES) == source.bytes
end

return M
