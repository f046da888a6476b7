-- Two changes of one text, made without knowledge of each other, as one text. Pure: lines in, lines out.
-- Invariant: where the two do not meet, each is in the result whole and in its place. Lines that one put beside what the other
-- changed are in it, too.
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
local function meets(hunk, cluster)
  if hunk.old_count == 0 or cluster.first == cluster.last then
    return hunk.old <= cluster.last
  end
  return hunk.old < cluster.last
end

---Whether a hunk and a cluster change the same line, or one puts lines into what the other changes.
---@param hunk claude-ide.buffer.Hunk
---@param cluster claude-ide.merge.Cluster
local function crosses(hunk, cluster)
  return hunk.old < cluster.last
end

---@param mine claude-ide.buffer.Hunk[]
---@param theirs claude-ide.buffer.Hunk[]
---@param belongs fun(hunk: claude-ide.buffer.Hunk, cluster: claude-ide.merge.Cluster): boolean
---@return claude-ide.merge.Cluster[] top to bottom
local function clusters(mine, theirs, belongs)
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
    if not top or not belongs(hunk, top) then
      top = { first = hunk.old, last = hunk.old, mine = {}, theirs = {} }
      found[#found + 1] = top
    end
    top.last = math.max(top.last, hunk.old + hunk.old_count)
    table.insert(is_mine and top.mine or top.theirs, hunk)
    m, t = is_mine and m + 1 or m, is_mine and t or t + 1
  end
  return found
end

---@class claude-ide.merge.Texts
---@field base string[]
---@field mine string[]
---@field theirs string[]

---One side of a cluster.
---@param hunks claude-ide.buffer.Hunk[] of that side
---@param cluster claude-ide.merge.Cluster
local function lines_of(base, side, hunks, cluster)
  local lines, at = {}, cluster.first
  for _, hunk in ipairs(hunks) do
    vim.list_extend(lines, base, at, hunk.old - 1)
    vim.list_extend(lines, side, hunk.new, hunk.new + hunk.new_count - 1)
    at = hunk.old + hunk.old_count
  end
  return vim.list_extend(lines, base, at, cluster.last - 1)
end

---Whether lines stand in a list from some line on.
local function stands_at(list, from, lines)
  return from > 0 and vim.deep_equal(vim.list_slice(list, from, from + #lines - 1), lines)
end

---A cluster in which both changed something: what each put beside a change of the other stays. Nobody can say in which order
---they belong: the lines of mine are first where both have put some in one place.
---@param texts claude-ide.merge.Texts
---@param cluster claude-ide.merge.Cluster
---@return string[] lines
local function beside_each_other(texts, cluster)
  local parts = clusters(cluster.mine, cluster.theirs, crosses)
  local lines, at = {}, cluster.first
  for i, part in ipairs(parts) do
    vim.list_extend(lines, texts.base, at, part.first - 1)
    at = part.last
    if #part.theirs > 0 then
      vim.list_extend(lines, lines_of(texts.base, texts.theirs, part.theirs, part))
    else
      local put = lines_of(texts.base, texts.mine, part.mine, part)
      local before, after = parts[i - 1], parts[i + 1]
      local next_lines = after
        and after.first == part.last
        and #after.theirs > 0
        and lines_of(texts.base, texts.theirs, after.theirs, after)
      local is_there = part.first == part.last
        and (
          (next_lines and stands_at(next_lines, 1, put))
          or (before and before.last == part.first and stands_at(lines, #lines - #put + 1, put))
        )
      vim.list_extend(lines, is_there and {} or put)
    end
  end
  return vim.list_extend(lines, texts.base, at, cluster.last - 1)
end

---Merges two changes of a text.
---@param base string[] the text that both come from
---@param mine string[]
---@param theirs string[]
---@return string[] merged where both changed the same lines: theirs
---@return integer overlaps places where both changed the same lines to something else, or lines beside each other of which nobody
---  can say in which order they belong
function M.three_way(base, mine, theirs)
  local hunks = require("claude-ide.buffer.patch").hunks
  local texts = { base = base, mine = mine, theirs = theirs } ---@type claude-ide.merge.Texts
  local merged, overlaps, at = {}, 0, 1
  for _, cluster in ipairs(clusters(hunks(base, mine), hunks(base, theirs), meets)) do
    vim.list_extend(merged, base, at, cluster.first - 1)
    local my_lines = lines_of(base, mine, cluster.mine, cluster)
    local their_lines = lines_of(base, theirs, cluster.theirs, cluster)
    if #cluster.theirs == 0 then
      vim.list_extend(merged, my_lines)
    elseif #cluster.mine == 0 or vim.deep_equal(my_lines, their_lines) then
      vim.list_extend(merged, their_lines)
    else
      vim.list_extend(merged, beside_each_other(texts, cluster))
      overlaps = overlaps + 1
    end
    at = cluster.last
  end
  return vim.list_extend(merged, base, at, #base), overlaps
end

return M
