-- Converts between the exact bytes of a file and buffer lines.
-- Invariants: `encode(decode(bytes))` is `bytes`, for any bytes. Edited text keeps the original's line ending, final newline and byte
-- order mark.
local lazy = require("claude-ide.lazy")
local native = lazy("claude-ide.library.native")

local M = {}

local BOM = "\239\187\191"
M.BOM = BOM

---@class claude-ide.bytes.Format
---@field bom boolean
---@field eol "\n"|"\r\n"|"\r" "\n" also for mixed line endings: each line then keeps its own CR
---@field final boolean the last line has a line ending
---@field empty boolean no lines, as opposed to one empty line

local FILEFORMATS = { ["\n"] = "unix", ["\r\n"] = "dos", ["\r"] = "mac" }

---Like vim.split, but four times as fast.
---@param text string
---@param separator string
---@return string[] lines at least one
function M.split(text, separator)
  local lines, count, from = {}, 0, 1
  local find, sub = string.find, string.sub
  while true do
    local first, last = find(text, separator, from, true)
    count = count + 1
    if not first or not last then
      lines[count] = sub(text, from)
      return lines
    end
    lines[count] = sub(text, from, first - 1)
    from = last + 1
  end
end

---@param lines string[]
---@return integer bytes without line endings
function M.size(lines)
  local bytes = 0
  for i = 1, #lines do
    bytes = bytes + #lines[i]
  end
  return bytes
end

local ascii = vim.lpeg.R("\0\127") ^ 0 -- a Lua pattern takes ten times as long

---@param bytes string
---@return boolean
function M.is_ascii(bytes)
  return ascii:match(bytes) > #bytes
end

---Decodes a file's bytes, as Neovim does. The byte order mark of UTF-16 stays in the text.
---@param bytes string
---@return string text UTF-8
---@return string encoding as in 'fileencoding'
function M.text(bytes)
  if M.is_ascii(bytes) then
    return bytes, "utf-8"
  end
  local found = native.text(bytes)
  if found then
    return found.text, found.encoding
  end
  return bytes, "utf-8"
end

---A file's text to show, without byte order mark.
---@param bytes string
---@return string text UTF-8
function M.shown(bytes)
  local text = M.text(bytes)
  return text:sub(1, #BOM) == BOM and text:sub(#BOM + 1) or text
end

---@param text string
---@return "\n"|"\r\n"|"\r"
local function end_of_line(text)
  local first = text:find("\n", 1, true)
  if not first then
    return text:find("\r", 1, true) and "\r" or "\n"
  end
  -- The first line decides most texts; only one that starts with CRLF is read to the end.
  if text:sub(first - 1, first - 1) ~= "\r" or first == 1 or text:find("[^\r]\n") then
    return "\n"
  end
  return "\r\n"
end

---@param bytes string
---@param known_eol? "\n"|"\r\n"|"\r" default: detected
---@return string[] lines at least one
---@return claude-ide.bytes.Format
function M.decode(bytes, known_eol)
  local bom = bytes:sub(1, #BOM) == BOM
  local text = bom and bytes:sub(#BOM + 1) or bytes
  local eol = known_eol or end_of_line(text)
  local final = text:sub(-#eol) == eol
  if final then
    text = text:sub(1, -#eol - 1)
  end
  return M.split(text, eol), { bom = bom, eol = eol, final = final, empty = text == "" and not final }
end

---@param lines string[]
---@param format claude-ide.bytes.Format
---@param no_lines? boolean the buffer has no lines, as opposed to one empty line
---@return string bytes
function M.encode(lines, format, no_lines)
  local start = format.bom and BOM or ""
  local blank = #lines == 1 and lines[1] == ""
  if blank and (no_lines or format.empty) then
    return start
  end
  -- An empty proposal does not define its final newline: text typed there gets one.
  local final = format.final or format.empty
  return start .. table.concat(lines, format.eol) .. (final and format.eol or "")
end

---Whether a buffer whose one line is empty has no lines: only the byte count tells.
---@param buf integer
---@return boolean
function M.has_no_lines(buf)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

---Whether the one line of a buffer filled from `M.decode` is there only because a buffer has at least one.
---@param buf integer
---@param format { empty: boolean }
---@return boolean
function M.is_empty(buf, format)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  return #lines == 1 and lines[1] == "" and (format.empty or M.has_no_lines(buf))
end

---The bytes of a buffer that was filled from `M.decode`.
---@param buf integer
---@param format claude-ide.bytes.Format
---@return string bytes
function M.read(buf, format)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  return M.encode(lines, format, #lines == 1 and lines[1] == "" and M.has_no_lines(buf))
end

---@param format claude-ide.bytes.Format
---@return "unix"|"dos"|"mac"
function M.fileformat(format)
  return FILEFORMATS[format.eol]
end

---Makes a CRLF text comparable with a text of mixed line endings: the CRs become part of both texts' lines.
---@param lines string[]
---@param format claude-ide.bytes.Format of these lines
---@param other string[]
---@param other_format claude-ide.bytes.Format
---@return string[] lines
---@return claude-ide.bytes.Format
function M.level(lines, format, other, other_format)
  if format.eol ~= "\r\n" or other_format.eol ~= "\n" then
    return lines, format
  end
  local mixed = false
  for i = 1, #other - (other_format.final and 0 or 1) do
    mixed = mixed or other[i]:sub(-1) == "\r"
  end
  if not mixed then
    return lines, format
  end
  local levelled = {}
  for i, line in ipairs(lines) do
    levelled[i] = (i < #lines or format.final) and line .. "\r" or line
  end
  return levelled, { bom = format.bom, eol = "\n", final = format.final, empty = format.empty }
end

---The lines of a text: none if it is empty, though its buffer has one, or if there is no file.
---@param text? { lines: string[], format: { empty: boolean } }
---@return string[]
function M.lines_of(text)
  return text and not text.format.empty and text.lines or {}
end

---A text as agents read files: with LF line endings and without byte order mark.
---@param text? { lines: string[], format: claude-ide.bytes.Format } nil: no file
---@return string
function M.as_read(text)
  if not text or text.format.empty then
    return ""
  end
  return table.concat(text.lines, "\n") .. (text.format.final and "\n" or "")
end

---Text with LF line endings, in which agents read and propose CRLF files.
---@param text string
---@return string
function M.with_lf(text)
  return (text:gsub("\r\n", "\n"))
end

---@param bytes string
---@return string text without what the CLI preserves on disk regardless of the answer: encoding, byte order mark and CRLF
local function as_the_cli_compares(bytes)
  return M.with_lf(M.shown(bytes))
end

---Whether the CLI takes two texts as equal. For a CRLF file, it proposes LF and writes CRLF.
---@param a string
---@param b string
---@return boolean
function M.same_text(a, b)
  return a == b or as_the_cli_compares(a) == as_the_cli_compares(b)
end

local EOL_NAMES = { ["\n"] = "LF", ["\r\n"] = "CRLF", ["\r"] = "CR" }

---Describes differences between two texts that their lines do not show.
---@param old claude-ide.bytes.Format
---@param new claude-ide.bytes.Format
---@return string? nil: nothing
function M.unseen_changes(old, new)
  if old.empty or new.empty then
    return nil
  end
  local changes = {}
  if old.eol ~= new.eol then
    changes[#changes + 1] = ("%s → %s"):format(EOL_NAMES[old.eol], EOL_NAMES[new.eol])
  end
  if old.final ~= new.final then
    changes[#changes + 1] = new.final and "adds the final newline" or "drops the final newline"
  end
  if old.bom ~= new.bom then
    changes[#changes + 1] = new.bom and "adds a BOM" or "drops the BOM"
  end
  return changes[1] and table.concat(changes, ", ") or nil
end

return M
