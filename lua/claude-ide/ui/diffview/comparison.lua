-- Compares the current text with the proposal. Large texts are compared on a thread: 10 MB take 80 ms to several seconds.
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local ide_hunk = lazy("claude-ide.base.hunk")
local timers = lazy("claude-ide.base.timer")

local M = {}

---Maximum size of both sides for the main loop (a few milliseconds).
local MAX_DIRECT_BYTES = 256 * 1024

---Of more hunks, those that are nearest to each other are merged. Drawing that many blocks Neovim for 50 ms.
local MAX_HUNKS = 20000

---After this time the whole difference is one hunk, until the comparison is done.
local DEADLINE_MS = 1500

---@class claude-ide.diffview.Comparison
---@field hunks claude-ide.buffer.Hunk[] top to bottom
---@field added integer lines
---@field removed integer lines
---@field is_rough? boolean one hunk from the first difference to the last, since the comparison takes long

---@param hunks claude-ide.buffer.Hunk[]
---@return claude-ide.diffview.Comparison
local function counted(hunks)
  local added, removed = ide_hunk.count(hunks)
  return { hunks = hunks, added = added, removed = removed }
end

---@param old string[]
---@param new string[]
---@return claude-ide.diffview.Comparison
local function as_one(old, new)
  local hunk = ide_hunk.between_ends(old, new)
  return counted((hunk.old_count > 0 or hunk.new_count > 0) and { hunk } or {})
end

---Runs on a thread: no upvalues, plain values only.
---@param old string
---@param new string
---@param max_hunks integer
---@param algorithm claude-ide.diffview.Algorithm
---@param indent_heuristic boolean
---@return string? numbers four per hunk, each followed by a space; nil: failed
---@return integer added
---@return integer removed
local function work(old, new, max_hunks, algorithm, indent_heuristic)
  local ok, indices = pcall(
    vim.diff or vim.text.diff,
    old,
    new,
    { result_type = "indices", algorithm = algorithm, indent_heuristic = indent_heuristic }
  )
  if not ok then
    return nil, 0, 0
  end
  ---@cast indices integer[][]
  local added, removed, numbers = 0, 0, {}
  for _, index in ipairs(indices) do
    removed, added = removed + index[2], added + index[4]
    -- For a side without lines xdiff names the line before.
    index[1] = index[2] == 0 and index[1] + 1 or index[1]
    index[3] = index[4] == 0 and index[3] + 1 or index[3]
  end
  local surplus, widest, ties = #indices - max_hunks, 0, 0
  if surplus > 0 then
    local gaps = {}
    for i = 2, #indices do
      gaps[i - 1] = indices[i][1] - indices[i - 1][1] - indices[i - 1][2]
    end
    table.sort(gaps)
    widest = gaps[surplus]
    for i = 1, surplus do
      ties = ties + (gaps[i] == widest and 1 or 0)
    end
  end
  local last, is_tie = nil, false ---@type integer[]?, boolean
  for _, index in ipairs(indices) do
    local gap = last and index[1] - last[1] - last[2] or math.huge
    -- Of equal gaps only every other one is closed, so that no hunk grows long.
    is_tie = surplus > 0 and gap == widest and ties > 0 and not is_tie
    ties = ties - (is_tie and 1 or 0)
    if last and surplus > 0 and (gap < widest or is_tie) then
      last = { last[1], index[1] + index[2] - last[1], last[3], index[3] + index[4] - last[3] }
    else
      numbers[#numbers + 1] = last and table.concat(last, " ") .. " "
      last = index
    end
  end
  numbers[#numbers + 1] = last and table.concat(last, " ") .. " "
  return table.concat(numbers), added, removed
end

---@param numbers string
---@return claude-ide.buffer.Hunk[]
local function parse(numbers)
  local hunks = {}
  for old, old_count, new, new_count in numbers:gmatch("(%d+) (%d+) (%d+) (%d+) ") do
    hunks[#hunks + 1] = {
      old = assert(tonumber(old)),
      old_count = assert(tonumber(old_count)),
      new = assert(tonumber(new)),
      new_count = assert(tonumber(new_count)),
    }
  end
  return hunks
end

local function joined(lines)
  return lines[1] and table.concat(lines, "\n") .. "\n" or ""
end

---@param old string[]
---@param new string[]
---@param done fun(comparison: claude-ide.diffview.Comparison) on the main loop, possibly before this returns
---@param guarded fun(fn: function): function wraps functions of later turns
---@param later? fun(comparison: claude-ide.diffview.Comparison) called after `done` got a rough one
function M.run(old, new, done, guarded, later)
  local size = bytes.size
  local options = diffview_hunks.diffopt()
  if size(old) + size(new) <= MAX_DIRECT_BYTES then
    local numbers = work(joined(old), joined(new), #old + #new, options.algorithm, options.indent_heuristic)
    return done(counted(numbers and parse(numbers) or as_one(old, new).hunks))
  end
  local timer, next_call = timers.new("show a diff without its hunks"), done
  timer:start(
    DEADLINE_MS,
    guarded(function()
      next_call = later or function() end
      local comparison = as_one(old, new)
      comparison.is_rough = true
      done(comparison)
    end)
  )
  local after = vim.schedule_wrap(guarded(function(numbers, added, removed)
    timer:stop()
    next_call(numbers and { hunks = parse(numbers), added = added, removed = removed } or as_one(old, new))
  end))
  vim.uv
    .new_work(string.dump(work), after)
    :queue(joined(old), joined(new), MAX_HUNKS, options.algorithm, options.indent_heuristic)
end

return M
