-- Finds changed words between two versions of a line. Bounded: very different lines have none, long lines have one changed part.
local lazy = require("claude-ide.lazy")
local hunk = lazy("claude-ide.base.hunk")

local M = {}

---Longer lines are not compared by word.
local MAX_BYTES = 1000

---Longer lines are not compared.
local MAX_LONG_BYTES = 256 * 1024

---Minimum share of common text; lines with less were rewritten.
local LEAST_IN_COMMON = 0.3

---Maximum lines of a hunk to pair.
local MAX_LINES = 60

---@alias claude-ide.diffview.Span [integer, integer] bytes [from, to), from 0

---@param line string
---@return string[] tokens
---@return integer[] starts byte of each token, and the end
local function tokens_of(line)
  local tokens, starts, at = {}, {}, 1
  while at <= #line do
    local _, stop = line:find("^[%w_]+", at)
    if not stop then
      _, stop = line:find("^[\194-\244][\128-\191]*", at)
    end
    stop = stop or at
    tokens[#tokens + 1], starts[#starts + 1] = line:sub(at, stop), at - 1
    at = stop + 1
  end
  starts[#starts + 1] = #line
  return tokens, starts
end

---@param starts integer[]
---@param first integer
---@param count integer
---@param spans claude-ide.diffview.Span[]
local function add(starts, first, count, spans)
  if count == 0 then
    return 0
  end
  local from, to = starts[first], starts[first + count]
  spans[#spans + 1] = { from, to }
  return to - from
end

---Length of the common beginning of two texts, in bytes.
---@param old string
---@param new string
---@return integer bytes at a character boundary of both; 0 if the texts are too long
function M.common(old, new)
  local same, differs = 0, math.min(#old, #new) + 1
  if differs > MAX_LONG_BYTES then
    return 0
  end
  while differs - same > 1 do
    local middle = math.floor((same + differs) / 2)
    if old:sub(same + 1, middle) == new:sub(same + 1, middle) then
      same = middle
    else
      differs = middle
    end
  end
  for _, text in ipairs({ old, new }) do
    if same > 0 and same < #text then
      same = same + vim.str_utf_start(text, same + 1)
    end
  end
  return same
end

---The changed part of two long lines.
---@param old string
---@param new string
---@return claude-ide.diffview.Span[] old_spans
---@return claude-ide.diffview.Span[] new_spans
local function middle(old, new)
  local first = M.common(old, new)
  local last = M.common(old:sub(first + 1):reverse(), new:sub(first + 1):reverse())
  local function span(text)
    local to = #text - last
    to = to < #text and to > first and to + vim.str_utf_end(text, to) or to
    return to > first and { { first, to } } or {}
  end
  if first + last < LEAST_IN_COMMON * math.max(#old, #new) then
    return {}, {}
  end
  return span(old), span(new)
end

---@param old string
---@param new string
---@return claude-ide.diffview.Span[] old_spans
---@return claude-ide.diffview.Span[] new_spans
function M.between(old, new)
  if old == "" or new == "" or old:find("\n", 1, true) or new:find("\n", 1, true) then
    return {}, {}
  elseif math.max(#old, #new) > MAX_LONG_BYTES then
    return {}, {}
  elseif math.max(#old, #new) > MAX_BYTES then
    return middle(old, new)
  end
  local old_tokens, old_starts = tokens_of(old)
  local new_tokens, new_starts = tokens_of(new)
  local indices = hunk.xdiff(
    table.concat(old_tokens, "\n") .. "\n",
    table.concat(new_tokens, "\n") .. "\n",
    { result_type = "indices", algorithm = "minimal" }
  )
  local old_spans, new_spans, changed = {}, {}, 0
  for _, index in
    ipairs(indices --[[@as integer[][] ]])
  do
    changed = changed + add(old_starts, index[1], index[2], old_spans)
    changed = changed + add(new_starts, index[3], index[4], new_spans)
  end
  if changed > (1 - LEAST_IN_COMMON) * (#old + #new) then
    return {}, {}
  end
  return old_spans, new_spans
end

---Pairs old lines with new ones.
---@param old string[]
---@param new string[]
---@return table<integer, integer> pairs from old to new, by index
function M.pair(old, new)
  local paired = {}
  if #old == 0 or #new == 0 or #old + #new > 2 * MAX_LINES then
    return paired
  elseif #old == #new then
    for i = 1, #old do
      paired[i] = i
    end
    return paired
  end
  local indices = hunk.xdiff(table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n", {
    result_type = "indices",
    linematch = MAX_LINES,
  })
  for _, index in
    ipairs(indices --[[@as integer[][] ]])
  do
    for i = 0, math.min(index[2], index[4]) - 1 do
      paired[index[1] + i] = index[3] + i
    end
  end
  return paired
end

return M
