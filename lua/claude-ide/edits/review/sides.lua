-- The buffers and texts of the two sides: the file itself, and its text without Claude's changes.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local disk = lazy("claude-ide.editor.buffer.disk")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local patch = lazy("claude-ide.editor.buffer.patch")
local quietly = lazy("claude-ide.ui.quietly")

---@class claude-ide.review.sides
local M = {}

---Names for new buffers, set once the previous buffers have given them up.
---@type table<integer, { path: string, words: string }>
local unnamed = {}

---Creates a buffer of ours without a name.
---@param words string the side's name
---@param path string
---@param line_in_file? fun(lnum: integer): integer of the text before; default: its lines are the file's
---@return integer buf
function M.make(words, path, line_in_file)
  local buf = own_buffer.create_side({ kind = "review", bo = { modifiable = false } }, function(first)
    return path, line_in_file and line_in_file(first) or first
  end, line_in_file ~= nil)
  unnamed[buf] = { path = path, words = words }
  return buf
end

---Names the unnamed buffers.
function M.name()
  for buf, as in pairs(unnamed) do
    if vim.api.nvim_buf_is_valid(buf) then
      buffer_marks.name(buf, as.path, as.words)
    end
  end
  unnamed = {}
end

---A file's lines without line endings.
---@param bytes? string
---@return string[]
local function readable(bytes)
  local lines = buffer_bytes.split(buffer_bytes.shown(bytes or ""), "\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  return vim.tbl_map(function(line)
    return (line:gsub("\r$", ""))
  end, lines)
end

---@param change claude-ide.journal.Change
---@return string[]
function M.lines_on_disk(change)
  local lines = readable(change.current)
  return #lines > 0 and lines or { "" }
end

---The file on disk, if its own buffer has unsaved changes of another text.
---@param change claude-ide.journal.Change
---@return integer buf
local function on_disk(change)
  local buf = M.make("on disk", change.path)
  M.fill(buf, M.lines_on_disk(change))
  vim.bo[buf].filetype = vim.filetype.match({ filename = change.path, buf = buf }) or ""
  return buf
end

---Whether there is a text to show under a file's name. The buffer of a deleted file still has its text, which only counts if the user has
---modified it, and Claude has not deleted the file.
---@param entry claude-ide.review.Entry
---@return boolean
function M.has_text(entry)
  if entry.change then
    return entry.change.kind ~= "deleted"
  end
  local path, buf = entry.path, buffer.find(entry.path)
  return vim.uv.fs_stat(path) ~= nil
    or buf ~= nil and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified
end

---The file's buffer, or one of ours if there is no file. It is read like any file, with autocommands.
---@param entry claude-ide.review.Entry
---@return integer buf
---@return boolean ours
function M.file(entry)
  local silently = quietly.run
  if entry.change and entry.change.behind then
    return silently(function()
      return on_disk(entry.change)
    end), true
  end
  local buf = M.has_text(entry) and (hidden.load(entry.path) or buffer.find(entry.path))
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf, false
  end
  return silently(function()
    return M.make("deleted", entry.path)
  end), true
end

---@param buf integer
---@return boolean
function M.is_ours(buf)
  local kind = buffer_marks.kind(buf)
  return kind == "review" or kind == "changes"
end

---The side before: the text without Claude's changes.
---@param entry claude-ide.review.Entry
---@param file integer
---@return string[]
function M.lines_before(entry, file)
  if not entry.change then
    return vim.api.nvim_buf_get_lines(file, 0, -1, true)
  end
  local change = entry.change
  local bytes = change.moved_from and change.current or change.without
  local lines = not M.is_ours(file) and disk.decode(file, bytes)
  if not lines then
    lines = readable(bytes)
  end
  if bytes:find("\0", 1, true) then
    for i, line in ipairs(lines) do
      lines[i] = line:gsub("\n", "\0")
    end
  end
  return #lines > 0 and lines or { "" }
end

---Sets the text of a buffer of ours. Only what differs is replaced, so that cursors, marks and highlights stay on their lines.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  own_buffer.change(buf, function()
    patch.apply(buf, lines, false)
  end)
end

return M
