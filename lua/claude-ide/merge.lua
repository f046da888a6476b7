-- Two changes of one text, made without knowledge of each other, as one text. Pure: lines in, lines out.
-- Invariant: where the two do not meet, each is in the result whole and in its place.
local M = {}

---Lines [first, last) of the base, which at least one of the two changed.
---@class claude-ide.merge.Cluster
---@field first integer 1-based
---@field last integer exclusive
---@field mine claude-ide.buffer.Hunk[]
---@field theirs claude-ide.buffer.Hunk[]

---Whether a hunk and a cluster are one matter. Lines side by side are two, but an insertion beside a change could stand
---before it or after it.
---@param hunk claude-ide.buffer.Hunk
---@param cluster claude-ide.merge.Cluster
---@return boolean
local function meets(hunk, cluster)
  if hunk.old_count == 0 or cluster.first == cluster.last then
    return hunk.old <= cluster.last
  end
  return hunk.old < cluster.last
end

---@param mine claude-ide.buffer.Hunk[]
---@param theirs claude-ide.buffer.Hunk[]
---@return claude-ide.merge.Cluster[] top to bottom
local function clusters(mine, theirs)
  local found = {} ---@type claude-ide.merge.Cluster[]
  local m, t = 1, 1
  while mine[m] or theirs[t] do
    local is_mine = mine[m]
      and (
        not theirs[t]
        or mine[m].old < theirs[t].old
        or (mine[m].old == theirs[t].old and mine[m].old_count == 0)
      )
    local hunk = is_mine and mine[m] or theirs[t]
    local top = found[#found]
    if not top or not meets(hunk, top) then
      top = { first = hunk.old, last = hunk.old, mine = {}, theirs = {} }
      found[#found + 1] = top
    end
    top.last = math.max(top.last, hunk.old + hunk.old_count)
    table.insert(is_mine and top.mine or top.theirs, hunk)
    m, t = is_mine and m + 1 or m, is_mine and t or t + 1
  end
  return found
end

---How many lines longer a side has become by some hunks.
---@param hunks claude-ide.buffer.Hunk[]
---@return integer
local function growth(hunks)
  local sum = 0
  for _, hunk in ipairs(hunks) do
    sum = sum + hunk.new_count - hunk.old_count
  end
  return sum
end

---Merges two changes of a text.
---@param base string[] the text that both come from
---@param mine string[]
---@param theirs string[]
---@return string[] merged where the two overlap: theirs
---@return integer overlaps places where both changed the same lines to something else
function M.three_way(base, mine, theirs)
  local hunks = require("claude-ide.buffer.patch").hunks
  local merged, overlaps = {}, 0
  local at, my_shift, their_shift = 1, 0, 0
  for _, cluster in ipairs(clusters(hunks(base, mine), hunks(base, theirs))) do
    vim.list_extend(merged, base, at, cluster.first - 1)
    local my_end = cluster.last + my_shift + growth(cluster.mine)
    local their_end = cluster.last + their_shift + growth(cluster.theirs)
    local my_lines = vim.list_slice(mine, cluster.first + my_shift, my_end - 1)
    local their_lines = vim.list_slice(theirs, cluster.first + their_shift, their_end - 1)
    if #cluster.theirs == 0 then
      vim.list_extend(merged, my_lines)
    else
      vim.list_extend(merged, their_lines)
      if #cluster.mine > 0 and not vim.deep_equal(my_lines, their_lines) then
        overlaps = overlaps + 1
      end
    end
    my_shift, their_shift = my_end - cluster.last, their_end - cluster.last
    at = cluster.last
  end
  return vim.list_extend(merged, base, at, #base), overlaps
end

return M
