-- How many letters two names differ by: the edit distance of Levenshtein, for "did you mean".

local M = {}

---@param a string
---@param b string
---@return integer
function M.between(a, b)
  local row = {}
  for column = 0, #b do
    row[column] = column
  end
  for i = 1, #a do
    local diagonal = i - 1
    row[0] = i
    for j = 1, #b do
      local above = row[j] --[[@as integer]]
      local replaced = diagonal + (a:byte(i) == b:byte(j) and 0 or 1)
      row[j] = math.min(replaced, above + 1, row[j - 1] + 1)
      diagonal = above
    end
  end
  return row[#b] --[[@as integer]]
end

return M
