-- Converts between buffer lines and file bytes: line endings, final newline, byte order mark.
-- Invariant: `encode(decode(bytes))` gives the same bytes, or `decode` gives nil and Neovim has to read the file.
local of_bytes = require("claude-ide.editor.buffer.bytes")
local lazy = require("claude-ide.lazy")
local position = lazy("claude-ide.base.position")

local M = {}

local BOM, EOLS = of_bytes.BOM, { unix = "\n", dos = "\r\n", mac = "\r" }

---The file format without the encoding: the bytes are always UTF-8.
---@class claude-ide.buffer.Format: claude-ide.bytes.Format
---@field endoffile? boolean CTRL-Z at the end

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
  end
  local is_big = fileencoding == "utf-16"
  local name = is_big and "utf-16le" or fileencoding -- without a byte order, iconv takes the machine's
  if name:find("^u[ct][sf]") and name ~= "utf-16le" then
    return nil -- other multi-byte Unicode
  end
  local bytes = vim.iconv(text, "utf-8", name)
  if not bytes or vim.iconv(bytes, name, "utf-8") ~= text then
    return nil
  end
  return is_big and bytes:gsub("(.)(.)", "%2%1") or bytes
end

---Decodes a file's bytes in an encoding.
---@param bytes string
---@param fileencoding string
---@return string? text UTF-8; nil: it would not become these bytes again
function M.decoded(bytes, fileencoding)
  if M.is_utf8(fileencoding) then
    return bytes
  end
  local found, encoding = of_bytes.text(bytes)
  local text = encoding == fileencoding and found or vim.iconv(bytes, fileencoding, "utf-8")
  return text and M.encoded(text, fileencoding) == bytes and text or nil
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
    eol = EOLS[binary and "unix" or bo.fileformat],
    final = bo.endofline or (bo.fixendofline and not binary),
    bom = bo.bomb and not binary and unicode,
    endoffile = bo.endoffile and not bo.fixendofline,
    empty = empty,
  }
end

---The format that a buffer's file has, as far as the options tell: what `:write` would mend is as it was read.
---@param buf integer loaded
---@return claude-ide.buffer.Format
function M.as_read(buf)
  local bo, format = vim.bo[buf], M.of(buf)
  format.final, format.endoffile = bo.endofline, bo.endoffile
  return format
end

---@param lines string[]
---@param format claude-ide.buffer.Format
---@return string bytes
function M.encode(lines, format)
  local start, finish = format.bom and BOM or "", format.endoffile and "\26" or ""
  if format.empty then
    return start .. finish
  end
  local eol = format.eol
  local text = table.concat(lines, eol == "\r" and "\n" or eol)
  if eol == "\r" then
    text = text:gsub("[\r\n]", { ["\r"] = "\n", ["\n"] = "\r" })
  end
  return start .. text .. (format.final and eol or "") .. finish
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
  local format = { eol = "\n", final = true, bom = false, empty = false } ---@type claude-ide.buffer.Format
  if not now.binary then
    if bytes:sub(1, #BOM) == BOM then
      bytes, format.bom = bytes:sub(#BOM + 1), true
    end
    local utf16 = bytes:find("^\254\255") or bytes:find("^\255\254")
    if utf16 or (now.fileformat ~= "unix" and bytes:sub(-1) == "\26") then
      return nil
    end
    if position.valid(bytes) ~= bytes then
      return nil
    end
    if now.fileformat == "mac" then
      if bytes:find("\n", 1, true) then
        return nil
      end
      format.eol = "\r"
    elseif all_crlf(bytes) then
      local detects = ("," .. now.fileformats .. ","):find(",dos,", 1, true) ~= nil
      if now.fileformat == "dos" or (detects and not now.carriage) then
        format.eol = "\r\n"
      end
    end
  end
  if bytes == "" then
    format.empty = true
    return { "" }, format
  end
  format.final = bytes:sub(-#format.eol) == format.eol
  if format.final then
    bytes = bytes:sub(1, -#format.eol - 1)
  end
  return of_bytes.split(bytes, format.eol), format
end

return M
