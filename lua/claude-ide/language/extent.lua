-- Which text belongs to a symbol alone: what a tool may delete or replace, and where lines may be put before and after it.
-- Language servers give ranges of very different width: pyright the name of a variable alone, typescript-language-server no `export const`,
-- clangd for `b` of `int a, b` the text of `a` too.
-- Invariant: text of another symbol is never part of an extent; an extent that cannot be told exactly is refused with the reason.
local M = {}

---@class claude-ide.language.Extent whole lines
---@field first integer 0-based row, of its decorators if it has some
---@field last integer row
---@field fills? string the line of the block that has nothing else

---Words before a name that belong to its declaration.
---@type table<string, true>
local KEYWORDS = {}
for word in
  ([[abstract async class const constexpr declare def default enum export extern final fn func function global inline interface
    internal let local mut mutable open override private protected pub public readonly sealed static type val var virtual volatile]]):gmatch(
    "%l+"
  )
do
  KEYWORDS[word] = true
end

---Keywords of a declaration that has a name after it without any others.
local DECLARES = { const = true, let = true, var = true, val = true, type = true }

---Languages in which a line that begins with "@" is a decorator or an annotation of the declaration below it.
local HAS_DECORATORS = {}
for filetype in
  ([[dart groovy java javascript javascriptreact kotlin python scala swift typescript typescriptreact]]):gmatch(
    "%l+"
  )
do
  HAS_DECORATORS[filetype] = true
end

---Lines that belong to the declaration below them, by filetype.
---@type table<string, string[]>
local HEADERS = {
  rust = { "^%s*#%[.*%]$" },
  php = { "^%s*#%[.*%]$" },
  cs = { "^%s*%[.*%]$" },
  c = { "^%s*%[%[.*%]%]$" },
  cpp = { "^%s*%[%[.*%]%]$", "^%s*template%s*<.*>$" },
}

---@return string
local function line_at(buf, row)
  return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
end

local function indent_of(line)
  return #line:match("^%s*")
end

---The first line of the decorator that ends in a line.
---@param buf integer
---@param row integer
---@return integer? row nil: no decorator ends there
local function decorator(buf, row)
  local line = line_at(buf, row):gsub("%s+$", "") --[[@as string]]
  local filetype = vim.bo[buf].filetype
  for _, pattern in ipairs(HEADERS[filetype] or {}) do
    if line:find(pattern) then
      return row
    end
  end
  if not HAS_DECORATORS[filetype] then
    return nil
  elseif line:find("^%s*@%a") then
    return row
  end
  -- The end of one over several lines: up to the line that begins it.
  local first = 0 ---@type integer
  if line:find("^%s*[%)%]}]+$") then
    first = row - 1
  end
  while first > 0 and (indent_of(line_at(buf, first)) > indent_of(line) or line_at(buf, first) == "") do
    first = first - 1
  end
  local is_its_begin = first < row
    and line_at(buf, first):find("^%s*@%a")
    and indent_of(line_at(buf, first)) == indent_of(line)
  return is_its_begin and first or nil
end

---@param buf integer
---@param row integer
---@return integer row first of its decorators
---@return string? why_not
local function with_decorators(buf, row)
  while row > 0 do
    local above = decorator(buf, row - 1)
    if not above then
      break
    end
    row = above
  end
  local line = row > 0 and line_at(buf, row - 1) or ""
  if line:find("^%s*@%a") then
    return row, ("line %d above it (`%s`) may belong to it"):format(row, vim.trim(line))
  end
  return row
end

---Words at the end of a text that belong to the declaration after it.
---@param lead string
---@return { at: integer, word: string }[] 1-based positions
local function keywords(lead)
  local found, stop = {}, #lead ---@type { at: integer, word: string }[], integer
  while true do
    local before = lead:sub(1, stop)
    local at, word = before:match("()(pub%b())%s+$")
    if not at then
      at, word = before:match("()%f[%w_]([%a_]+)%s+$")
    end
    if not at or not word or not KEYWORDS[word:match("^[%a_]+") or ""] then
      return found
    end
    local first = tonumber(at) --[[@as integer]]
    table.insert(found, 1, { at = first, word = word })
    stop = first - 1 --[[@as integer]]
  end
end

---@return string[] leaders of comments to the end of a line
local function comment_leaders(buf)
  local leaders = { "//" }
  local leader, closer = vim.bo[buf].commentstring:match("^%s*(.-)%s*%%s%s*(.-)%s*$")
  if leader and leader ~= "" and closer == "" then
    leaders[#leaders + 1] = leader
  end
  local filetype = vim.bo[buf].filetype
  if filetype == "python" then
    leaders = { "#" }
  elseif filetype == "lua" then
    leaders = { "--" }
  end
  return leaders
end

---@param text string
---@return boolean whether nothing but a comment is in it
local function is_comment(buf, text)
  text = vim.trim(text)
  if text == "" then
    return true
  elseif text:find("^/%*") then
    return text:find("*/", 3, true) == #text - 1
  end
  return vim.iter(comment_leaders(buf)):any(function(leader)
    return vim.startswith(text, leader)
  end)
end

---The nearest line with code.
---@param step -1|1
---@return string line empty: there is none
---@return integer row
local function code_line(buf, row, step)
  local count = vim.api.nvim_buf_line_count(buf)
  row = row + step
  while row >= 0 and row < count do
    local line = vim.trim(line_at(buf, row))
    if not is_comment(buf, line) and not line:find("^%*") and not line:find("^#%s*%l+") then
      return line, row
    end
    row = row + step
  end
  return "", row
end

local QUOTES = { ['"'] = true, ["'"] = true }

---The end of a logical line of Python.
---@param col integer 0-based byte
---@return integer? row nil: it has no end, or another statement follows in the line
---@return integer col
local function python_end(buf, row, col)
  local count, depth, quote = vim.api.nvim_buf_line_count(buf), 0, nil ---@type integer, integer, string?
  while row < count do
    local line = line_at(buf, row)
    local continues = false
    while col < #line do
      local rest = line:sub(col + 1)
      local char = rest:sub(1, 1)
      if quote then
        if char == "\\" then
          col = col + 1
        elseif vim.startswith(rest, quote) then
          col, quote = col + #quote - 1, nil
        end
      elseif QUOTES[char] then
        quote = rest:sub(1, 3) == char:rep(3) and char:rep(3) or char
        col = col + #quote - 1
      elseif char == "#" then
        break
      elseif char == ";" and depth == 0 then
        return nil, 0
      elseif char == "\\" and #rest == 1 then
        continues = true
      elseif char:find("[%(%[{]") then
        depth = depth + 1
      elseif char:find("[%)%]}]") then
        depth = depth - 1
      end
      col = col + 1
    end
    local is_open = depth > 0 or quote and #quote == 3 or continues or quote and line:sub(-1) == "\\"
    if not is_open then
      return depth == 0 and not quote and row or nil, #line:sub(1, col):gsub("%s+$", "")
    end
    row, col = row + 1, 0
  end
  return nil, 0
end

---@class claude-ide.language.Statement columns in bytes
---@field first integer 0-based row
---@field col integer
---@field last integer row
---@field last_col integer exclusive
---@field lead string text before it in its line
---@field after string text behind it in its line

---What a symbol's range is the range of, widened from the name to the statement where only the name is given.
---@param definition claude-ide.language.Definition
---@return claude-ide.language.Statement?
---@return string? why_not
local function statement(buf, definition)
  local from, to = definition.range.start, definition.range["end"]
  ---@type integer, integer, integer, integer
  local first, col, last, last_col = from.line, from.character, to.line, to.character
  if last_col == 0 and last > first then
    last = last - 1 --[[@as integer]]
    last_col = #line_at(buf, last) --[[@as integer]]
  end
  local after = line_at(buf, last):sub(last_col + 1)
  local text = table.concat(vim.api.nvim_buf_get_text(buf, first, col, last, last_col, {}), "\n")
  local is_name = not text:find("[^%w_\128-\255]")
  if is_name and after:find("^%s*[%w:=%(<{%[]") then
    local end_row, end_col ---@type integer?, integer?
    if vim.bo[buf].filetype == "python" and (after:find("^%s*=[^=]") or after:find("^%s*:%s*[%w_\"']")) then
      end_row, end_col = python_end(buf, last, last_col)
    end
    if not end_row or not end_col then
      return nil, ("where `%s` ends is not known"):format(vim.trim(line_at(buf, first)))
    end
    last, last_col = end_row, end_col
    after = line_at(buf, last):sub(last_col + 1)
  end
  for _, other in ipairs(definition.others) do
    local is_in = (other.line > first or other.line == first and other.character >= col)
      and (other.line < last or other.line == last and other.character < last_col)
    if is_in then
      return nil, ("`%s` declares another name, too"):format(vim.trim(line_at(buf, other.line)))
    end
  end
  return {
    first = first,
    col = col,
    last = last,
    last_col = last_col,
    lead = line_at(buf, first):sub(1, col),
    after = after,
  }
end

---@param after string
---@return string mark ";", "," or empty
---@return string rest
local function mark_of(after)
  local mark, rest = after:match("^%s*([;,]?)(.*)$")
  return mark or "", rest or ""
end

local CONTROLS = { ["if"] = true, ["for"] = true, ["while"] = true, foreach = true }

---@param line string code
---@return boolean whether it is a condition or a loop without braces, in a language that has them
local function governs(buf, line)
  if not vim.bo[buf].commentstring:find("^/[/*]") then
    return false
  end
  local head = line:gsub("^}%s*", ""):gsub("^else%s+", "")
  return head == "else"
    or head == "do"
    or head:find("^%l+%s*%(.*%)$") ~= nil and CONTROLS[head:match("^%l+")] == true
end

local OPENS = "[,%(%[{]$"

---Lines that hold a symbol and nothing else.
---@param definition claude-ide.language.Definition
---@return claude-ide.language.Extent?
---@return string? why_not
function M.lines(buf, definition)
  local it, why_not = statement(buf, definition)
  if not it then
    return nil, why_not
  end
  local words = keywords(it.lead)
  local own_lead = it.lead:sub(1, words[1] and words[1].at - 1 or -1)
  local mark, rest = mark_of(it.after)
  if own_lead:find("%S") then
    return nil, ("other code is in its line: `%s`"):format(vim.trim(line_at(buf, it.first)))
  elseif not is_comment(buf, rest) then
    return nil, ("other code is in its line: `%s`"):format(vim.trim(line_at(buf, it.last)))
  end
  local first, above_why = with_decorators(buf, it.first)
  if above_why then
    return nil, above_why
  end
  local above, above_row = code_line(buf, first, -1)
  local below, below_row = code_line(buf, it.last, 1)
  local is_element = above:find(OPENS) ~= nil
  local is_part = mark == "," and (#words > 0 or not is_element)
    or mark == ";" and above:find(",$")
    or mark == "" and above:find(",$") and not below:find("^[%)%]}]")
    or above:find("[=+%-*|&?\\.]$") and not above:find("%*/$") and not above:find("[+-][+-]$")
    or above:find("=>$")
  if is_part then
    return nil, "it is a part of a longer statement"
  end
  if governs(buf, above) then
    return nil, ("it is all that `%s` governs"):format(above)
  end
  local extent = { first = first, last = it.last } ---@type claude-ide.language.Extent
  if vim.bo[buf].filetype == "python" and above:find(":$") then
    local indent = indent_of(line_at(buf, first))
    local is_last = below == "" or indent_of(line_at(buf, below_row)) < indent
    if is_last and indent > indent_of(line_at(buf, above_row)) then
      extent.fills = above
    end
  end
  return extent
end

---@param text string code
---@return string[] keywords that it begins with, behind its comments
local function keywords_of(text)
  local at, found = 1, {} ---@type integer, string[]
  local patterns = { "^%s+()", "^//[^\n]*\n()", "^/%*.-%*/()" }
  local skipped = true
  while skipped do
    skipped = false
    for _, pattern in ipairs(patterns) do
      local next_at = text:match(pattern, at) --[[@as integer?]]
      at, skipped = next_at or at, skipped or next_at ~= nil
    end
  end
  while true do
    local word, next_at = text:match("^([%a_]+)%s+()", at)
    if not word then
      word, next_at = text:match("^(pub)%b()%s+()", at)
    end
    if not word or not KEYWORDS[word] then
      return found
    end
    found[#found + 1], at = word, next_at --[[@as integer]]
  end
end

---@param words { at: integer, word: string }[]
---@param wanted table<string, true>
---@return integer? at
local function first_of(words, wanted)
  for _, word in ipairs(words) do
    if wanted[word.word:match("^[%a_]+") or ""] then
      return word.at
    end
  end
end

---The edit that replaces a symbol's definition by a text.
---@param definition claude-ide.language.Definition
---@param body string
---@return lsp.TextEdit? edit columns in bytes
---@return string? why_not
function M.replacement(buf, definition, body)
  local it, why_not = statement(buf, definition)
  if not it then
    return nil, why_not
  end
  local col, words, given = it.col, keywords(it.lead), keywords_of(body)
  local mark, rest = mark_of(it.after)
  if #words > 0 and #given > 0 then
    -- The text declares it anew, with keywords that stand before the server's range.
    if mark == "," or not is_comment(buf, rest) then
      return nil, ("other code is in its line: `%s`"):format(vim.trim(line_at(buf, it.last)))
    end
    local at = first_of(words, { [given[1]] = true }) or first_of(words, DECLARES)
    col = at and at - 1 or col
  end
  local lead = line_at(buf, it.first):sub(1, col)
  -- Text before it in the line stays: do not repeat the indent.
  if lead:find("^%s+$") and vim.startswith(body, lead) then
    body = body:sub(#lead + 1)
  end
  body = body:gsub("%s+$", "")
  if mark == ";" then
    body = body:gsub(";$", "")
  end
  return {
    range = {
      start = { line = it.first, character = col },
      ["end"] = { line = it.last, character = it.last_col },
    },
    newText = body,
  }
end

return M
