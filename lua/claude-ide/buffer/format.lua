-- Converts between buffer lines and file bytes: line endings, final newline, byte order mark.
-- Invariant: `encode(decode(bytes))` gives the same bytes, or `decode` gives nil and Neovim has to read the file.
local M = {}

local of_bytes = require("claude-ide.buffer.bytes")
local BOM, SEPARATORS = of_bytes.BOM, of_bytes.EOLS

---The file format without the encoding: the bytes are always UTF-8.
---@class claude-ide.buffer.Format
---@field fileformat "unix"|"dos"|"mac"
---@field endofline boolean the last line ends with a line ending
---@field bomb boolean
---@field endoffile boolean CTRL-Z at the end
---@field empty boolean no lines, as opposed to one empty line

---@param fileencoding string
---@return boolean
function M.is_utf8(fileencoding)
  return fileencoding == "" or fileencoding == "utf-8"
end

---Encodes a text in a file's encoding.
---@param text string UTF-8
---@param fileencoding string
---@return string? bytes nil: not representable, or the byte order is unknown
function M.encoded(text, fileencoding)
  if M.is_utf8(fileencoding) then
    return text
  elseif fileencoding:find("^u[ct][sf]") then
    return nil -- UTF-16 and other multi-byte Unicode
  end
  local bytes = vim.iconv(text, "utf-8", fileencoding)
  return bytes and vim.iconv(bytes, fileencoding, "utf-8") == text and bytes or nil
end

---The format in which `:write` would write a buffer.
---@param buf integer loaded
---@return claude-ide.buffer.Format
function M.of(buf)
  local bo = vim.bo[buf]
  local binary = bo.binary
  local encoding = bo.fileencoding
  local unicode = encoding == "" or encoding:find("^u[tc][fs]") ~= nil
  local empty = false
  if vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == "" then
    empty = of_bytes.has_no_lines(buf)
  end
  return {
    fileformat = binary and "unix" or bo.fileformat,
    endofline = bo.endofline or (bo.fixendofline and not binary),
    bomb = bo.bomb and not binary and unicode,
    endoffile = bo.endoffile and not bo.fixendofline,
    empty = empty,
  }
end

---@param lines string[]
---@param format claude-ide.buffer.Format
---@return string bytes
function M.encode(lines, format)
  local start, finish = format.bomb and BOM or "", format.endoffile and "\26" or ""
  if format.empty then
    return start .. finish
  end
  local separator = SEPARATORS[format.fileformat]
  local text = table.concat(lines, separator == "\r" and "\n" or separator)
  if separator == "\r" then
    text = text:gsub("[\r\n]", { ["\r"] = "\n", ["\n"] = "\r" })
  end
  return start .. text .. (format.endofline and separator or "") .. finish
end

local function all_crlf(bytes)
  return bytes:find("\n", 1, true) ~= nil and bytes:sub(1, 1) ~= "\n" and not bytes:find("[^\r]\n")
end

---Decodes a file into lines, in the buffer's format where the bytes allow it.
---@param bytes string
---@param now { fileformat: string, binary: boolean, fileencoding: string, fileformats: string, carriage: boolean } the buffer as it is; carriage: its first line ends in CR
---@return string[]? lines nil: Neovim has to detect encoding and format
---@return claude-ide.buffer.Format? format
function M.decode(bytes, now)
  if not M.is_utf8(now.fileencoding) then
    return nil
  end
  local format = { fileformat = "unix", endofline = true, bomb = false, endoffile = false, empty = false }
  if not now.binary then
    if bytes:sub(1, #BOM) == BOM then
      bytes, format.bomb = bytes:sub(#BOM + 1), true
    end
    local utf16 = bytes:find("^\254\255") or bytes:find("^\255\254")
    if utf16 or (now.fileformat ~= "unix" and bytes:sub(-1) == "\26") then
      return nil
    end
    if bytes:find("[\128-\255]") and require("claude-ide.position").valid(bytes) ~= bytes then
      return nil
    end
    if now.fileformat == "mac" then
      if bytes:find("\n", 1, true) then
        return nil
      end
      format.fileformat = "mac"
    elseif all_crlf(bytes) then
      local detects = ("," .. now.fileformats .. ","):find(",dos,", 1, true) ~= nil
      if now.fileformat == "dos" or (detects and not now.carriage) then
        format.fileformat = "dos"
      end
    end
  end
  if bytes == "" then
    format.empty = true
    return { "" }, format
  end
  local separator = SEPARATORS[format.fileformat] --[[@as string]]
  format.endofline = bytes:sub(-#separator) == separator
  if format.endofline then
    bytes = bytes:sub(1, -#separator - 1)
  end
  return of_bytes.split(bytes, separator), format
end

return M
