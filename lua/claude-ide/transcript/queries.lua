-- Treesitter highlight queries, loaded a few patterns at a time: Neovim compiles a query in one go, that of C in 16 ms and more.
-- Invariant: captures equal those of the whole query, except for the patterns in `DEAR`.

local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")

local M = {}

---Patterns compiled at once: one or two milliseconds, unless a single one takes longer.
local AT_ONCE = 8

---Maximum size of a query file.
local MAX_BYTES = 1024 * 1024

---Patterns to omit, with normalised blanks. This one takes 9 of the query's 11 ms (Neovim 0.11).
---@type table<string, table<string, true>>
local DEAR = {
  -- The colon of a link definition.
  markdown = { ['((link_label) . ":" @punctuation.delimiter)'] = true },
}

---@class claude-ide.transcript.LoadedQuery
---@field queries vim.treesitter.Query[] sorted by pattern
---@field waiting? string[] parts to compile; nil: not read yet

---@type table<string, claude-ide.transcript.LoadedQuery> by language
local loaded = {}

---@param text string
---@return integer[] bytes where patterns begin, from 1
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

---Splits a query into parts that compile separately. Pure.
---@param text string
---@param language string
---@return string[]
function M.parts(text, language)
  local from = beginnings(text)
  local parts, part = {}, {}
  for at, first in ipairs(from) do
    -- The first part includes the text before its pattern.
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
    texts[#texts + 1] = file.read_now(path, MAX_BYTES)
  end
  return M.parts(table.concat(texts, "\n"), language)
end

---Loads the next part of a language's query.
---@param language string with a parser
---@return boolean more false: all is loaded
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
  -- A pattern of another parser version invalidates its own part only.
  local ok, compiled = pcall(vim.treesitter.query.parse, language, part)
  query.queries[#query.queries + 1] = ok and compiled or nil
  return true
end

---The whole query, loaded if necessary.
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
