-- Marks hidden content of a text to be approved: invisible characters, those that change text direction, long runs of blanks, empty
-- lines. Control characters are marked where a text is drawn (width.lua). Pure.
local M = {}

---Characters of no width, or that change text direction. `strtrans()` shows some of them, depending on the version of Neovim.
---@type { [1]: integer, [2]: integer }[] from and to
local INVISIBLE = {
  { 0xAD, 0xAD },
  { 0x34F, 0x34F },
  { 0x61C, 0x61C },
  { 0x17B4, 0x17B5 },
  { 0x180B, 0x180F },
  { 0x200B, 0x200B },
  { 0x200E, 0x200F },
  { 0x2028, 0x202E },
  { 0x2060, 0x206F },
  { 0xFEFF, 0xFEFF },
  { 0xFFF9, 0xFFFB },
  { 0x1D173, 0x1D17A },
  { 0xE0000, 0xE0FFF },
}

---Joiners of letters and emoji: meaningless after ASCII.
---@type { [1]: integer, [2]: integer }[]
local JOINING = { { 0x200C, 0x200D }, { 0xFE00, 0xFE0F } }

---Blanks other than the space, which a shell treats as letters.
---@type { [1]: integer, [2]: integer }[]
local BLANK = {
  { 0xA0, 0xA0 },
  { 0x115F, 0x1160 },
  { 0x1680, 0x1680 },
  { 0x2000, 0x200A },
  { 0x202F, 0x202F },
  { 0x205F, 0x205F },
  { 0x2800, 0x2800 },
  { 0x3000, 0x3000 },
  { 0x3164, 0x3164 },
  { 0xFFA0, 0xFFA0 },
}

---A multi-byte character.
local WIDE = "[\194-\244][\128-\191]+"

---@param ranges { [1]: integer, [2]: integer }[]
local function is_in(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      return true
    end
  end
  return false
end

---@param before? integer previous byte
local function shows_nothing(code, before)
  return is_in(code, INVISIBLE) or is_in(code, JOINING) and (not before or before < 0x80)
end

---@param is_marked fun(code: integer, before: integer?): boolean before: the previous byte
local function replace(text, is_marked)
  return (
    text:gsub("()(" .. WIDE .. ")", function(at, char)
      local code = vim.fn.char2nr(char, true)
      return is_marked(code, text:byte(at --[[@as integer]] - 1)) and ("<%x>"):format(code) or char
    end)
  )
end

---Marks invisible characters: `<202e>`.
---@param text string
---@return string
function M.characters(text)
  return replace(text, shows_nothing)
end

---Maximum run of blanks that is not marked, within a line and as indent, and of empty lines.
---@class claude-ide.unseen.Most
---@field within integer
---@field before integer
---@field empty integer lines

---For commands and other arguments.
---@type claude-ide.unseen.Most
M.WORDS = { within = 3, before = 40, empty = 2 }
---For code, which may be aligned.
---@type claude-ide.unseen.Most
M.CODE = { within = 16, before = 40, empty = 4 }

---Format of a mark for a run.
M.RUN = "⟨%d %s⟩"
---Pattern of such a mark.
M.RUN_PATTERN = "⟨%d+ [%l ]+⟩"

local function blanks(line, most)
  return (
    line:gsub("()([ \t]+)", function(at, run)
      local count = at == 1 and most.before or most.within
      return #run > count and M.RUN:format(#run, "blanks") or run
    end)
  )
end

---@class claude-ide.unseen.Found
---@field at integer byte, from 1
---@field mark string
---@field is_run boolean a run of blanks

---Finds hidden content in a line of code.
---@param line string
---@return claude-ide.unseen.Found[]
function M.find(line)
  local found = {} ---@type claude-ide.unseen.Found[]
  for at, run in line:gmatch("()([ \t]+)") do
    local is_within = at > 1 and at + #run <= #line
    if is_within and #run > M.CODE.within then
      found[#found + 1] = {
        at = at --[[@as integer]],
        mark = M.RUN:format(#run, "blanks"),
        is_run = true,
      }
    end
  end
  for at, char in line:gmatch("()(" .. WIDE .. ")") do
    local code, before = vim.fn.char2nr(char, true), line:byte(at --[[@as integer]] - 1)
    local hides = is_in(code, BLANK) or shows_nothing(code, before)
    if hides and not vim.fn.strtrans(char):find("^<") then
      found[#found + 1] = {
        at = at --[[@as integer]],
        mark = ("<%x>"):format(code),
        is_run = false,
      }
    end
  end
  return found
end

---Marks hidden content in lines of a text to be approved.
---@param lines string[]
---@param most claude-ide.unseen.Most
---@param signs? string of a diff: characters that may precede a line, for a pattern class
---@return string[]
function M.lines(lines, most, signs)
  local empty = ("^%s%%s*$"):format(signs and ("[%s]?"):format(signs) or "")
  local marked, run = {}, {} ---@type string[], string[]
  local function end_run()
    if #run > most.empty then
      marked[#marked + 1] = M.RUN:format(#run, "empty lines")
    else
      vim.list_extend(marked, run)
    end
    run = {}
  end
  for _, line in ipairs(lines) do
    line = replace(line, function(code)
      return is_in(code, BLANK)
    end)
    line = blanks(line, most)
    if line:find(empty) then
      run[#run + 1] = line
    else
      end_run()
      marked[#marked + 1] = line
    end
  end
  end_run()
  return marked
end

return M
