-- Which words differ between two versions of a line. Bounded: what is too long or too different has none.
local M = {}

local MAX_BYTES = 1000

---Lines that have less than this in common were not changed but written anew.
local LEAST_IN_COMMON = 0.3

---So many lines of a hunk are laid side by side.
local MAX_LINES = 60

---@alias claude-ide.compare.Span [integer, integer] bytes [from, to), from 0

---@param line string
---@return string[] tokens
---@return integer[] starts byte of each, and of the end
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
---@param spans claude-ide.compare.Span[]
local function add(starts, first, count, spans)
  if count == 0 then
    return 0
  end
  local from, to = starts[first], starts[first + count]
  spans[#spans + 1] = { from, to }
  return to - from
end

---@param old string
---@param new string
---@return claude-ide.compare.Span[] old_spans
---@return claude-ide.compare.Span[] new_spans
function M.between(old, new)
  if
    old == ""
    or new == ""
    or #old > MAX_BYTES
    or #new > MAX_BYTES
    or old:find("\n", 1, true)
    or new:find("\n", 1, true)
  then
    return {}, {}
  end
  local old_tokens, old_starts = tokens_of(old)
  local new_tokens, new_starts = tokens_of(new)
  local diff = vim.text and vim.text.diff or vim.diff
  local indices = diff(
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

---Which line of the old text became which of the new.
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
  local diff = vim.text and vim.text.diff or vim.diff
  local indices = diff(table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n", {
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
