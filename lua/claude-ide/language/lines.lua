-- Reads lines of files for display: from a loaded buffer, including unsaved changes, else from disk.
-- Invariant: withheld files yield no lines.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local file = lazy("claude-ide.base.file")
local line_breaks = lazy("claude-ide.base.line_breaks")
local locate = lazy("claude-ide.language.locate")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Maximum bytes read of a file on disk.
local MAX_READ_BYTES = 4 * 1024 * 1024
---Maximum bytes of a displayed line.
local MAX_LINE_BYTES = 200

---@class claude-ide.language.Lines
---@field private sources table<string, claude-ide.language.Source>
---@field private loaded table<string, integer> loaded buffers by name
---@field folders string[] of the workspace, found once per answer
local Lines = {}
Lines.__index = Lines

---@class claude-ide.language.Source
---@field buf? integer
---@field text? string content on disk, split lazily
---@field row integer 0-based: the last line found
---@field at integer 1-based: its offset in the text
---@field unsaved boolean
---@field odd? string[]|false lines, if servers count them differently; nil: not checked yet
---@field withheld? "private"|"outside"

---@return claude-ide.language.Lines
function M.new()
  local loaded = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
      loaded[vim.api.nvim_buf_get_name(buf)] = buf
    end
  end
  return setmetatable({
    sources = {},
    loaded = loaded,
    folders = workspace.folders(),
  }, Lines)
end

---A line of a text. Hits are in order, so it continues from the last one: splitting large files is slow.
---@param row integer 0-based
local function line_of(source, row)
  local text = source.text or ""
  if row < source.row then
    source.row, source.at = 0, 1
  end
  while source.row < row do
    local at = text:find("\n", source.at, true)
    if not at then
      return ""
    end
    source.row, source.at = source.row + 1, at + 1
  end
  local last = (text:find("\n", source.at, true) or #text + 1) - 1
  return (text:sub(source.at, last):gsub("\r$", ""))
end

---@private
---@param path string absolute
---@return claude-ide.language.Source
function Lines:source(path)
  local known = self.sources[path]
  if known then
    return known
  end
  local buf = self.loaded[path]
  local private = buf and buffer.is_private(buf) or privacy.denied_by(path) ~= nil
  local unsaved = buf ~= nil and vim.bo[buf].modified
  local source = { buf = buf, row = 0, at = 1, unsaved = unsaved } ---@type claude-ide.language.Source
  if private then
    source.withheld = "private"
  elseif not locate.is_inside(path, self.folders) then
    source.withheld = "outside"
  elseif not buf then
    local bytes = file.read_start(path, MAX_READ_BYTES) or ""
    bytes = #bytes == MAX_READ_BYTES and bytes:match("^.*\n") or bytes -- else it may end within a character
    source.text = buffer_bytes.shown(bytes)
  end
  self.sources[path] = source
  return source
end

---Why a file's lines are withheld, if so.
---@param path string absolute
---@return "private"|"outside"|nil
function Lines:withheld(path)
  return self:source(path).withheld
end

---@param path string absolute
---@return boolean
function Lines:is_unsaved(path)
  return self:source(path).unsaved
end

---@private
---@param path string absolute
---@param row integer 0-based
---@return string
function Lines:raw(path, row)
  local source = self:source(path)
  if source.withheld then
    return ""
  elseif source.buf then
    return vim.api.nvim_buf_get_lines(source.buf, row, row + 1, false)[1] or ""
  end
  return line_of(source, row)
end

---Converts a server's line.
---@param path string absolute
---@param row integer 0-based, in the server's terms
---@param kind claude-ide.LineBreaks
---@return integer row 0-based
---@return { at: integer, text: string } piece of that line
function Lines:of_server(path, row, kind)
  local source = self:source(path)
  if kind ~= "lf" and source.odd == nil then
    local lines = source.buf and vim.api.nvim_buf_get_lines(source.buf, 0, -1, false)
      or vim.split((source.text or ""):gsub("\r\n", "\n"), "\n", { plain = true })
    source.odd = line_breaks.differ(table.concat(lines, "\n")) and lines or false
  end
  if kind ~= "lf" and source.odd then
    return line_breaks.from_server(source.odd, kind, row)
  end
  return row, { at = 0, text = self:raw(path, row) }
end

---A line for display: trimmed and cut.
---@param path string absolute
---@param row integer 0-based
---@return string
function Lines:text(path, row)
  return M.brief(self:raw(path, row))
end

---A trimmed line, cut and valid UTF-8 for JSON.
---@param text string
---@return string
function M.brief(text)
  local line = vim.trim(text:sub(1, 4096))
  local cut = position.truncate(line, MAX_LINE_BYTES)
  return position.valid(cut) .. (#cut < #line and "…" or "")
end

return M
