-- Marks hidden content of a text to be approved: invisible characters, those that change text direction, long runs of blanks, empty
-- lines. Control characters are marked where a text is drawn (base/width.lua). In a buffer `ui/hidden_marks.lua` draws the marks. Pure.
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
  { 0xFFF0, 0xFFFB },
  { 0x13430, 0x1343F },
  { 0x1BCA0, 0x1BCA3 },
  { 0x1D159, 0x1D159 },
  { 0x1D173, 0x1D17A },
  { 0xE0000, 0xE0FFF },
}

---Joiners of letters and emoji, and variation selectors: they show nothing except after a character of `JOINED`.
---@type { [1]: integer, [2]: integer }[]
local JOINERS, SELECTORS = { { 0x200C, 0x200D } }, { { 0xFE00, 0xFE0F } }

---Scripts whose letters have joined forms, and symbols with the form of an emoji.
---@type { [1]: integer, [2]: integer }[]
local JOINED = {
  { 0x600, 0xDFF },
  { 0xF00, 0x109F },
  { 0x1780, 0x18AF },
  { 0x1900, 0x1CFF },
  { 0x2049, 0x2049 },
  { 0x203C, 0x203C },
  { 0x2122, 0x2139 },
  { 0x2190, 0x27FF },
  { 0x2900, 0x2BFF },
  { 0x3030, 0x303D },
  { 0x3297, 0x3299 },
  { 0xA800, 0xABFF },
  { 0xFB50, 0xFDFF },
  { 0xFE70, 0xFEFC },
  { 0x10A00, 0x11FFF },
  { 0x1F000, 0x1FAFF },
}

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

---@param char string one that `WIDE` matches
---@return integer
local function code_of(char)
  local first, second, third, fourth = char:byte(1, 4)
  if first < 0xE0 then
    return (first - 0xC0) * 0x40 + second - 0x80
  elseif first < 0xF0 then
    return (first - 0xE0) * 0x1000 + (second - 0x80) * 0x40 + (third or 0x80) - 0x80
  end
  return (first - 0xF0) * 0x40000
    + (second - 0x80) * 0x1000
    + ((third or 0x80) - 0x80) * 0x40
    + (fourth or 0x80)
    - 0x80
end

---@class claude-ide.invisible_text.Character of several bytes
---@field code integer
---@field before integer code of the character before, or 0
---@field after integer the byte after, or 0

---Whether a character shows nothing. A joiner stands between two letters or emoji, and a selector behind one: a second one hides data.
---@param char claude-ide.invisible_text.Character
local function shows_nothing(char)
  local code = char.code
  if is_in(code, JOINERS) then
    local is_joined = is_in(char.before, JOINED) or char.before == 0xFE0F and code == 0x200D
    return not is_joined or char.after < 0x80
  elseif is_in(code, SELECTORS) then
    return not is_in(char.before, JOINED)
  end
  return is_in(code, INVISIBLE)
end

---Describes each character of several bytes, from left to right.
---@param text string
---@return fun(at: integer, char: string): claude-ide.invisible_text.Character
local function reader(text)
  local next_at, last = 1, 0
  ---@param at integer
  ---@param char string
  return function(at, char)
    local code, before = code_of(char), at == next_at and last or text:byte(at - 1) or 0
    next_at, last = at + #char, code
    return { code = code, before = before, after = text:byte(next_at) or 0 }
  end
end

---@param is_marked fun(char: claude-ide.invisible_text.Character): boolean
local function replace(text, is_marked)
  local read = reader(text)
  return (
    text:gsub("()(" .. WIDE .. ")", function(at, char)
      local its = read(at --[[@as integer]], char --[[@as string]])
      return is_marked(its) and ("<%x>"):format(its.code) or char
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
---@class claude-ide.invisible_text.Most
---@field within integer
---@field before integer
---@field empty integer lines

---For commands and other arguments.
---@type claude-ide.invisible_text.Most
M.WORDS = { within = 3, before = 40, empty = 2 }
---For code, which may be aligned.
---@type claude-ide.invisible_text.Most
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

---@class claude-ide.invisible_text.Found
---@field at integer byte, from 1, in front of which the mark belongs
---@field mark string
---@field is_run boolean a run of blanks

---Most characters of one cluster that are named.
local MOST_NAMED = 40

---The byte after the grapheme cluster at `from`, as this Neovim draws it.
---@param line string
---@param from integer from 1
---@return integer
local function after_cluster(line, from)
  for _, most in ipairs({ 256, #line }) do
    local piece = line:sub(from, from + most - 1):gsub("%z", "\n") -- a NUL would make it a Blob
    local width = vim.fn.byteidx(piece, 1)
    -- The piece may end within a character.
    if width > 0 and (width < #piece - 4 or from + #piece > #line) then
      return from + width
    end
  end
  return #line + 1
end

---@param line string
---@return { at: integer, code: integer }[] hidden characters, from left to right
local function hidden_characters(line)
  local read, hidden = reader(line), {}
  for at, char in line:gmatch("()(" .. WIDE .. ")") do
    local its = read(at --[[@as integer]], char --[[@as string]])
    if is_in(its.code, BLANK) or shows_nothing(its) then
      hidden[#hidden + 1] = { at = at, code = its.code }
    end
  end
  return hidden
end

---Whether Neovim itself draws a character that begins a cluster as `<202e>`. Of a character within one it draws nothing.
---@param code integer
local function is_drawn(code)
  return vim.fn.strtrans(vim.fn.nr2char(code, true)):find("^<") ~= nil
end

---The marks of hidden characters, each behind the cluster that has them: within one, Neovim draws no mark either.
---@param line string
---@param found claude-ide.invisible_text.Found[]
---@return integer count hidden characters, including those that Neovim draws
local function find_characters(line, found)
  local hidden, i, drawn = hidden_characters(line), 1, {} ---@type any, integer, table<integer, boolean>
  local start, stop = 1, 1 ---@type integer, integer the cluster [start, stop)
  while hidden[i] do
    local at, names = hidden[i].at, {}
    if at >= stop then
      local from = at ---@type integer
      while from > stop and line:byte(from) >= 0x80 do
        from = from - 1
      end
      stop = from -- an ASCII character begins a cluster
      while stop <= at do
        start, stop = stop, after_cluster(line, stop)
      end
    end
    while hidden[i] and hidden[i].at < stop do
      local code = hidden[i].code
      if drawn[code] == nil then
        drawn[code] = is_drawn(code)
      end
      if (hidden[i].at > start or not drawn[code]) and #names < MOST_NAMED then
        names[#names + 1] = ("<%x>"):format(code)
      end
      i = i + 1
    end
    if names[MOST_NAMED] then
      names[MOST_NAMED] = "…"
    end
    if #names > 0 then
      found[#found + 1] = { at = stop, mark = table.concat(names), is_run = false }
    end
  end
  return #hidden
end

---Names of the hidden characters of a text that Neovim does not draw.
---@param text string
---@return string
function M.names(text)
  local found, names = {}, "" ---@type claude-ide.invisible_text.Found[], string
  find_characters(text, found)
  for _, one in ipairs(found) do
    names = names .. one.mark
  end
  return names
end

---Finds hidden content in a line.
---@param line string
---@param most? claude-ide.invisible_text.Most default: of code
---@return claude-ide.invisible_text.Found[] marks of what Neovim does not draw
---@return integer count hidden characters and runs, including those that Neovim draws
function M.find(line, most)
  local found, within = {}, (most or M.CODE).within ---@type claude-ide.invisible_text.Found[], integer
  local count = find_characters(line, found)
  for at, run in line:gmatch("()([ \t]+)") do
    local is_within = at > 1 and at + #run <= #line
    if is_within and #run > within then
      count = count + 1
      found[#found + 1] = {
        at = at --[[@as integer]],
        mark = M.RUN:format(#run, "blanks"),
        is_run = true,
      }
    end
  end
  return found, count
end

---Marks hidden content in lines of a text to be approved.
---@param lines string[]
---@param most claude-ide.invisible_text.Most
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
    line = replace(line, function(char)
      return is_in(char.code, BLANK)
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
