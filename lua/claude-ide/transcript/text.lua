-- Text of a transcript as lines that a buffer can show: no escape sequences, no control characters, no endless lines. Pure.

local M = {}

---Longest line that is shown in full, in bytes: Neovim lays out a wrapped line anew at each redraw.
local MAX_LINE = 2000

---What a terminal would have taken as a command, not as text.
local SEQUENCES = {
  "\27%[[%d;:<=>?]*[ -/]*[@-~]", -- CSI: colours, cursor
  "\27[%]PX^_].-\27\\", -- OSC, DCS, …, ended by ST
  "\27%][^\7\27]*\7", -- OSC ended by BEL
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

---As much of a line as is shown: a cut does not part a character.
---@param line string
---@return string
local function shortened(line)
  if #line <= MAX_LINE then
    return line
  end
  local stop = MAX_LINE
  while stop > 0 and line:byte(stop + 1) and line:byte(stop + 1) >= 0x80 and line:byte(stop + 1) < 0xC0 do
    stop = stop - 1
  end
  return ("%s … (%s more on this line)"):format(line:sub(1, stop), size(#line - stop))
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
---@return string
local function settled(line)
  if line:find("[%z\1-\8\11-\31\127]") then
    line = line:gsub("[%z\1-\8\11-\31\127]", function(char)
      local byte = char:byte()
      return byte == 127 and "^?" or "^" .. string.char(byte + 64)
    end)
  end
  -- U+0080 to U+009F are control characters too.
  return shortened((line:gsub("\194[\128-\159]", "")))
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
  for at, line in ipairs(lines) do
    lines[at] = settled(is_output and line:find("\r", 1, true) and overwritten(line) or line)
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
  return settled((M.strip(line):gsub("\r$", "")))
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

---@param text { text?: string, bytes?: integer }
---@return string? nil: the text is all there
function M.cut_note(text)
  local missing = (text.bytes or 0) - #(text.text or "")
  return missing > 0 and ("… %s more"):format(size(missing)) or nil
end

return M
