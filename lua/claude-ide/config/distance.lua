-- Suggestions for misspelled names: "did you mean".

local M = {}

---Levenshtein distance.
local function between(a, b)
  local row = {}
  for column = 0, #b do
    row[column] = column
  end
  for i = 1, #a do
    local diagonal = i - 1
    row[0] = i
    for j = 1, #b do
      local above, left = row[j], row[j - 1]
      ---@cast above integer
      ---@cast left integer
      local replaced = diagonal + (a:byte(i) == b:byte(j) and 0 or 1)
      row[j] = math.min(replaced, above + 1, left + 1)
      diagonal = above
    end
  end
  return row[#b] --[[@as integer]]
end

---The most similar name, if it is similar enough.
---@param word string
---@param names string[]
---@return string?
function M.nearest(word, names)
  local nearest, least = nil, math.max(2, math.floor(#word / 3)) + 1
  for _, name in ipairs(names) do
    local distance = between(word:lower(), name)
    if distance < least and 2 * distance <= #word then
      nearest, least = name, distance
    end
  end
  return nearest
end

return M
