-- Highlight queries of treesitter, loaded a few patterns at a time: Neovim compiles a query in one go, that of C for 16 ms and
-- more. Invariant: what is captured is what the whole query would capture, but for a few patterns that are left out.

local M = {}

---Patterns compiled at once: a millisecond or two, but where a single one takes longer.
local AT_ONCE = 8

---Of one file of a query.
local MAX_BYTES = 1024 * 1024

---Patterns to do without, blanks as one: one takes as long as the rest of its query does five times (9 of 11 ms, Neovim 0.11).
---@type table<string, table<string, true>>
local DEAR = {
  -- The colon where a link is defined.
  markdown = { ['((link_label) . ":" @punctuation.delimiter)'] = true },
}

---@class claude-ide.transcript.LoadedQuery
---@field queries vim.treesitter.Query[] the first patterns first
---@field waiting? string[] what is to be compiled; nil: it was not read yet

---@type table<string, claude-ide.transcript.LoadedQuery> by language
local loaded = {}

---Where the patterns of a query begin.
---@param text string
---@return integer[] bytes from 1
local function beginnings(text)
  local list, depth, at = {}, 0, 1
  while true do
    local found = text:find('[;"()%[%]]', at)
    local char = text:sub(found or #text + 1, found)
    if not found then
      return list
    elseif (char == '"' or char == "(" or char == "[") and depth == 0 then
      list[#list + 1] = found
    end
    at = found + 1
    if char == ";" then
      at = (text:find("\n", at, true) or #text) + 1
    elseif char == '"' then
      local stop = text:find('["\\]', at)
      while stop and text:byte(stop) == 92 do
        stop = text:find('["\\]', stop + 2)
      end
      at = (stop or #text) + 1
    else
      depth = depth + ((char == "(" or char == "[") and 1 or -1)
    end
  end
end

---A query in parts that are compiled by themselves. Pure.
---@param text string
---@param language string
---@return string[]
function M.parts(text, language)
  local from = beginnings(text)
  local parts, part = {}, {}
  for at, first in ipairs(from) do
    -- What stands before the first one belongs to it.
    local pattern = text:sub(at == 1 and 1 or first, (from[at + 1] or 0) - 1)
    local bare = pattern:gsub(";[^\n]*", ""):gsub("%s+", " ")
    if not (DEAR[language] or {})[vim.trim(bare)] then
      part[#part + 1] = pattern
    end
    if #part == AT_ONCE or at == #from then
      parts[#parts + 1] = table.concat(part)
      part = {}
    end
  end
  return parts
end

local function read(language)
  local ok, files = pcall(vim.treesitter.query.get_files, language, "highlights")
  local texts = {}
  for _, path in ipairs(ok and files or {}) do
    texts[#texts + 1] = require("claude-ide.file").read_now(path, MAX_BYTES)
  end
  return M.parts(table.concat(texts, "\n"), language)
end

---Loads a part of a language's query.
---@param language string that there is a parser for
---@return boolean more there was something to load
function M.load(language)
  local query = loaded[language] or { queries = {} }
  loaded[language] = query
  if not query.waiting then
    query.waiting = read(language)
    return true
  end
  local part = table.remove(query.waiting, 1)
  if not part then
    return false
  end
  -- One that the parser does not know (it is older, or newer) takes its part along, not the others.
  local ok, compiled = pcall(vim.treesitter.query.parse, language, part)
  query.queries[#query.queries + 1] = ok and compiled or nil
  return true
end

---All of it, also where nobody has loaded it.
---@param language string
---@return vim.treesitter.Query[]
function M.of(language)
  local more = true
  while more do
    more = M.load(language)
  end
  return loaded[language].queries
end

return M
