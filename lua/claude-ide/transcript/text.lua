-- Text of a transcript as lines that a buffer can show: no escape sequences, no control characters, no endless lines. Pure.

local M = {}

---Longest line that is shown in full, in bytes: Neovim lays out a wrapped line anew at each redraw.
local MAX_LINE = 2000

---What a terminal would have taken as a command, not as text.
local SEQUENCES = {
  "\27%[[%d;:<=>?]*[ -/]*[@-~]", -- CSI: colours, cursor
  "\27%][^\7\27]*\7", -- OSC ended by BEL: first, for what ends a later one is no end of it
  "\27[%]PX^_].-\27\\", -- OSC, DCS, …, ended by ST
  "\27[ -/]*[0-~]", -- two characters: keypad, character sets
}

---Takes out what moves the cursor or colours the text.
---@param text string
---@return string
function M.strip(text)
  if text:find("\27", 1, true) then
    for _, pattern in ipairs(SEQUENCES) do
      text = text:gsub(pattern, "")
    end
  end
  return text
end

---@param bytes integer
---@return string
local function size(bytes)
  return require("claude-ide.sessions.phrases").size(bytes)
end

---The beginning of a text: a cut does not part a character.
---@param text string
---@param most integer bytes
---@return string
---@return integer left bytes behind it
function M.head(text, most)
  if #text <= most then
    return text, 0
  end
  local stop = most
  while stop > most - 4 and stop > 0 and text:byte(stop + 1) >= 0x80 and text:byte(stop + 1) < 0xC0 do
    stop = stop - 1
  end
  return text:sub(1, stop), #text - stop
end

---As much of a line as is shown.
---@param line string
---@param behind? integer bytes of it that are cut already
---@return string
local function shortened(line, behind)
  local head, left = M.head(line, MAX_LINE)
  left = left + (behind or 0)
  return left > 0 and ("%s … (%s more on this line)"):format(head, size(left)) or line
end

---A line as a terminal leaves it: what follows a carriage return stands over what was before.
---@param line string
---@return string
local function overwritten(line)
  local shown = {}
  for part in line:gmatch("[^\r]+") do
    for at, char in ipairs(vim.fn.split(part, "\\zs")) do
      shown[at] = char
    end
  end
  return table.concat(shown)
end

---@param line string
---@param behind? integer bytes of it that are cut already
---@return string
local function settled(line, behind)
  if line:find("[%z\1-\8\11-\31\127]") then
    line = line:gsub("[%z\1-\8\11-\31\127]", function(char)
      local byte = char:byte()
      return byte == 127 and "^?" or "^" .. string.char(byte + 64)
    end)
  end
  -- U+0080 to U+009F are control characters too.
  return shortened(line:gsub("\194[\128-\159]", ""), behind)
end

---@param text string
---@param is_output? boolean what a program wrote to a terminal; else a lone carriage return ends a line
---@return string[] lines without empty ones at the end; none of an empty text
function M.lines(text, is_output)
  text = M.strip(text):gsub("\r+\n", "\n")
  text = text:gsub("\r+$", "")
  if not is_output then
    text = text:gsub("\r", "\n")
  end
  local lines = vim.split(text, "\n", { plain = true })
  if text:find("[%z\1-\8\11-\31\127\194]") then
    for at, line in ipairs(lines) do
      lines[at] = settled(is_output and line:find("\r", 1, true) and overwritten(line) or line)
    end
  else -- as nearly all are: looked at once, not line by line
    for at, line in ipairs(lines) do
      lines[at] = #line > MAX_LINE and shortened(line) or line
    end
  end
  while #lines > 0 and not lines[#lines]:find("%S") do
    lines[#lines] = nil
  end
  return lines
end

---One line of a file: a carriage return within it is shown.
---@param line string
---@return string
function M.line(line)
  local head, behind = M.head(line, 4 * MAX_LINE) -- what is not shown is not looked at either
  head = M.strip(head)
  return settled(behind > 0 and head or head:gsub("\r$", ""), behind)
end

---The same without empty lines at the beginning.
---@param text string
---@param is_output? boolean
---@return string[]
function M.paragraphs(text, is_output)
  return M.lines((text:gsub("^%s*\n", "")), is_output)
end

---@param text string
---@return string the same on one line
function M.one_line(text)
  return require("claude-ide.sessions.phrases").one_line(M.strip(text))
end

---Bytes of a text that are looked at for a line that tells it.
local SUMMED_UP = 4 * 1024

---A text, however long, in a line: its beginning.
---@param text string
---@return string
function M.summary(text)
  local head, left = M.head(text, SUMMED_UP)
  return M.one_line(head) .. (left > 0 and " …" or "")
end

---What is not shown of a text.
---@param lines integer that are not
---@param bytes integer behind those lines, which nobody counted the lines of
---@return string? nil: nothing
function M.left_note(lines, bytes)
  if bytes > 0 then
    return ("… %s more"):format(size(bytes))
  end
  return lines > 0 and ("… %d more line%s"):format(lines, lines == 1 and "" or "s") or nil
end

---@param text { text?: string, bytes?: integer }
---@return string? nil: the text is all there
function M.cut_note(text)
  local missing = (text.bytes or 0) - #(text.text or "")
  return missing > 0 and ("… %s more"):format(size(missing)) or nil
end

return M
