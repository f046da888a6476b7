-- Which lines of a text are Claude's, while Claude and the user both go on changing it. Pure: texts in, texts out.
-- Invariant: taking back Claude's regions never changes a line outside them, and bytes stay exact: end of line, final
-- newline and byte order mark are part of the lines here.
local M = {}

---Ends the last line of a text that has no final newline, so that it differs from the same line with one. Alone it is the
---one line of a file that holds nothing, so that this differs from no file.
local NO_NEWLINE = "\0\0no newline"

---@alias claude-ide.journal.State
---| "claude" # Claude's, as Claude left it
---| "conflict" # Claude's, and changed by the user since
---| "gone" # the user has taken it back already

---Lines [start, start + count) of a text are where `before` would stand without Claude.
---@class claude-ide.journal.Region
---@field start integer 1-based
---@field count integer
---@field before string[]
---@field state claude-ide.journal.State
---@field left? string[] of a conflict: its lines as Claude left them, so that the user can take their own change back

---@alias claude-ide.journal.Actor
---| "claude"
---| "user"
---| "accepted" # Claude's, and the user has seen and taken it
---| "undo" # the user took back some of Claude's changes, not needfully these

---@param bytes? string nil: there is no file
---@return string[]
function M.decode(bytes)
  if not bytes then
    return {}
  elseif bytes == "" then
    return { NO_NEWLINE }
  end
  local lines = require("claude-ide.buffer.bytes").split(bytes, "\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  else
    lines[#lines] = lines[#lines] .. NO_NEWLINE
  end
  return lines
end

---@param line string
---@return string line
---@return boolean unended
local function strip(line)
  if line:sub(-#NO_NEWLINE) == NO_NEWLINE then
    return line:sub(1, -#NO_NEWLINE - 1), true
  end
  return line, false
end

---@param lines string[]
---@return string bytes
function M.encode(lines)
  if #lines == 0 then
    return ""
  end
  local out, unended = {}, false
  for i, line in ipairs(lines) do
    out[i], unended = strip(line)
  end
  return table.concat(out, "\n") .. (unended and "" or "\n")
end

---The lines as a user reads them.
---@param lines string[]
---@return string[]
function M.readable(lines)
  if lines[1] == NO_NEWLINE then
    return {}
  end
  return vim.tbl_map(function(line)
    return (strip(line):gsub("\r$", ""))
  end, lines)
end

---A file that holds nothing does so no more once it has lines.
---@param lines string[]
---@return string[]
local function without_nothing(lines)
  return #lines < 2 and lines or vim.tbl_filter(function(line)
    return line ~= NO_NEWLINE
  end, lines)
end

---Whether there is no line in either, or the same ones.
---@param a string[]
---@param b string[]
---@return boolean
local function same_lines(a, b)
  return #M.readable(a) == 0 and #M.readable(b) == 0 or vim.deep_equal(a, b)
end

---@param list string[]
---@param first integer
---@param count integer
---@return string[]
local function slice(list, first, count)
  return vim.list_slice(list, first, first + count - 1)
end

---@param a integer
---@param a_end integer exclusive
---@param b integer
---@param b_end integer exclusive
---@return boolean also where they have no line in common but lie side by side
local function touch(a, a_end, b, b_end)
  return a <= b_end and b <= a_end
end

---Lines that are repeated can be said to have come or gone in several places. The place that takes back one of the
---regions is what the user meant.
---@param hunk claude-ide.buffer.Hunk
---@param old string[]
---@param new string[]
---@param regions claude-ide.journal.Region[]
local function slide_to_region(hunk, old, new, regions)
  local inserts = hunk.old_count == 0
  if not inserts and hunk.new_count > 0 then
    return
  end
  local text, at, count = old, hunk.old, hunk.old_count
  if inserts then
    text, at, count = new, hunk.new, hunk.new_count
  end
  local low, high = at, at
  while low > 1 and text[low - 1] == text[low + count - 1] do
    low = low - 1
  end
  while high + count <= #text and text[high] == text[high + count] do
    high = high + 1
  end
  for _, region in ipairs(regions) do
    local by = region.start - hunk.old
    local fits = at + by >= low and at + by <= high
    if fits and inserts then
      fits = region.count == 0 and vim.deep_equal(slice(new, hunk.new + by, count), region.before)
    elseif fits then
      fits = region.count == count and #region.before == 0
    end
    if fits then
      hunk.old, hunk.new = hunk.old + by, hunk.new + by
      return
    end
  end
end

---What would stand in lines [first, last) without the regions in them.
---@param lines string[]
---@param first integer
---@param last integer exclusive
---@param regions claude-ide.journal.Region[]
---@return string[]
local function without(lines, first, last, regions)
  local out, at = {}, first
  for _, region in ipairs(regions) do
    vim.list_extend(out, lines, at, region.start - 1)
    vim.list_extend(out, region.before)
    at = region.start + region.count
  end
  return vim.list_extend(out, lines, at, last - 1)
end

---What stood in lines [first, last) as Claude left them.
---@param lines string[]
---@param first integer
---@param last integer exclusive
---@param regions claude-ide.journal.Region[]
---@return string[]? nil: that is not known any more
local function as_left(lines, first, last, regions)
  local out, at = {}, first
  for _, region in ipairs(regions) do
    if region.state == "conflict" and not region.left then
      return nil
    end
    vim.list_extend(out, lines, at, region.start - 1)
    vim.list_extend(out, region.left or slice(lines, region.start, region.count))
    at = region.start + region.count
  end
  return vim.list_extend(out, lines, at, last - 1)
end

---@param lines string[]
---@param region claude-ide.journal.Region
---@return boolean empty nothing is left of it
local function trim(lines, region)
  local left = slice(lines, region.start, region.count)
  local differs = require("claude-ide.hunk").between_ends(region.before, left)
  region.start, region.count = region.start + differs.old - 1, differs.new_count
  region.before = slice(region.before, differs.old, differs.old_count)
  return region.count == 0 and #region.before == 0
end

---@class claude-ide.journal.Cluster
---@field first integer
---@field last integer exclusive
---@field hunks claude-ide.buffer.Hunk[]
---@field regions claude-ide.journal.Region[]

---Whether what the user changed and what is Claude's are one matter. Lines side by side are two; but where Claude left no
---line, the place is known by its neighbours alone.
---@param a claude-ide.journal.Cluster
---@param b claude-ide.journal.Cluster
---@return boolean
local function same_matter(a, b)
  local is_place = (a.first == a.last and #a.hunks == 0) or (b.first == b.last and #b.hunks == 0)
  if is_place then
    return touch(a.first, a.last, b.first, b.last)
  end
  return a.first < b.last and b.first < a.last
end

---What Claude changed side by side is one.
---@param a claude-ide.journal.Cluster
---@param b claude-ide.journal.Cluster
---@return boolean
local function side_by_side(a, b)
  return touch(a.first, a.last, b.first, b.last)
end

---Hunks and regions that meet, as one; in the order of the text.
---@param hunks claude-ide.buffer.Hunk[]
---@param regions claude-ide.journal.Region[]
---@param meets fun(a: claude-ide.journal.Cluster, b: claude-ide.journal.Cluster): boolean
---@return claude-ide.journal.Cluster[]
local function clusters(hunks, regions, meets)
  local found = {} ---@type claude-ide.journal.Cluster[]
  ---@param first integer
  ---@param last integer
  ---@param kind "hunks"|"regions"
  ---@param item table
  local function add(first, last, kind, item)
    local cluster = { first = first, last = last, hunks = {}, regions = {} }
    table.insert(cluster[kind], item)
    -- Regions alone never become one: a hunk is what joins them.
    while #found > 0 do
      local top = found[#found]
      local joins = (#cluster.hunks > 0 or #top.hunks > 0) and meets(top, cluster)
      if not joins then
        break
      end
      found[#found] = nil
      cluster.first, cluster.last = math.min(top.first, cluster.first), math.max(top.last, cluster.last)
      cluster.hunks = vim.list_extend(top.hunks, cluster.hunks)
      cluster.regions = vim.list_extend(top.regions, cluster.regions)
    end
    found[#found + 1] = cluster
  end
  local h, r = 1, 1
  while hunks[h] or regions[r] do
    local hunk, region = hunks[h], regions[r]
    local region_first = region
      and (not hunk or region.start < hunk.old or (region.start == hunk.old and region.count == 0))
    if region_first then
      add(region.start, region.start + region.count, "regions", region)
      r = r + 1
    else
      add(hunk.old, hunk.old + hunk.old_count, "hunks", hunk)
      h = h + 1
    end
  end
  return found
end

---Takes back some regions of a text.
---@param lines string[]
---@param regions claude-ide.journal.Region[] sorted
---@return string[]
function M.revert(lines, regions)
  return without_nothing(without(lines, 1, #lines + 1, regions))
end

---Where lines repeat, a text can be read both ways: with a region still in it, and without. Then it is not Claude's to
---take back, for it may be gone already.
---@param regions claude-ide.journal.Region[] of `old`
---@param moved table<integer, claude-ide.journal.Region> what became of each in `new`; those that are unchanged are judged
---@param old string[]
---@param new string[]
local function doubt(regions, moved, old, new)
  local plain = M.revert(old, regions)
  local back = vim.deep_equal(plain, new)
  local hunks = back and {} or require("claude-ide.buffer.patch").hunks(plain, new)
  local shift, h = 0, 1
  for i, region in ipairs(regions) do
    local first = region.start + shift
    local last = first + #region.before
    shift = shift + #region.before - region.count
    while hunks[h] and hunks[h].old + hunks[h].old_count < first do
      h = h + 1
    end
    local seen = hunks[h] and touch(hunks[h].old, hunks[h].old + hunks[h].old_count, first, last)
    if moved[i] and not seen then
      moved[i].state = back and "gone" or "conflict"
    end
  end
end

---What becomes of regions that a change of the text met.
---@param cluster claude-ide.journal.Cluster
---@param joined claude-ide.journal.Region the lines of all of it, in `new`
---@param old string[]
---@param new string[]
---@param actor claude-ide.journal.Actor
---@return claude-ide.journal.Region? nil: nothing of Claude's
local function judge(cluster, joined, old, new, actor)
  local theirs = #cluster.regions > 0
  if actor == "accepted" or (actor ~= "claude" and not theirs) then
    return nil
  end
  local conflict = vim.iter(cluster.regions):any(function(region)
    return region.state == "conflict"
  end)
  if actor == "claude" or (actor == "undo" and not conflict) then
    joined.state = conflict and "conflict" or "claude"
    return not trim(new, joined) and joined or nil
  end
  local now = slice(new, joined.start, joined.count)
  if same_lines(now, joined.before) then
    joined.state = "gone"
    return joined
  end
  joined.left = as_left(old, cluster.first, cluster.last, cluster.regions)
  if joined.left and vim.deep_equal(now, joined.left) then
    joined.state, joined.left = "claude", nil
    return not trim(new, joined) and joined or nil
  end
  joined.state = "conflict"
  return joined
end

---Carries regions over a change of the text.
---@param regions claude-ide.journal.Region[] of `old`, in order
---@param old string[]
---@param new string[]
---@param actor claude-ide.journal.Actor
---@return claude-ide.journal.Region[] of `new`; those that are gone only where the user took them back just now
function M.advance(regions, old, new, actor)
  local hunks = require("claude-ide.buffer.patch").hunks(old, new)
  if (actor == "user" or actor == "undo") and #regions > 0 then
    for _, hunk in ipairs(hunks) do
      slide_to_region(hunk, old, new, regions)
    end
  end
  local result, shift = {}, 0
  local moved = {} ---@type table<integer, claude-ide.journal.Region>
  local passed = 0
  local found = clusters(hunks, regions, actor == "claude" and side_by_side or same_matter)
  for _, cluster in ipairs(found) do
    if #cluster.hunks == 0 then
      for _, region in ipairs(cluster.regions) do
        passed = passed + 1
        moved[passed] = vim.tbl_extend("force", {}, region)
        moved[passed].start = region.start + shift
        result[#result + 1] = moved[passed]
      end
    else
      local start = cluster.first + shift
      passed = passed + #cluster.regions
      for _, hunk in ipairs(cluster.hunks) do
        shift = shift + hunk.new_count - hunk.old_count
      end
      result[#result + 1] = judge(cluster, {
        start = start,
        count = cluster.last + shift - start,
        before = without(old, cluster.first, cluster.last, cluster.regions),
        state = "claude",
      }, old, new, actor)
    end
  end
  if actor == "user" and #hunks > 0 and next(moved) then
    doubt(regions, moved, old, new)
  end
  return result
end

---@param regions claude-ide.journal.Region[]
---@return claude-ide.journal.Region[]
function M.drop_gone(regions)
  return vim.tbl_filter(function(region)
    return region.state ~= "gone"
  end, regions)
end

return M
