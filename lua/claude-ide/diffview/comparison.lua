-- Compares the current text with the proposal. Large texts are compared on a thread: 10 MB take 80 ms to several seconds.
local M = {}

---Maximum size of both sides for the main loop (a few milliseconds).
local MAX_DIRECT_BYTES = 256 * 1024

---More hunks are combined into one.
local MAX_HUNKS = 3000

---Timeout, after which the whole difference is one hunk.
local DEADLINE_MS = 1500

---@class claude-ide.diffview.Comparison
---@field hunks claude-ide.buffer.Hunk[] top to bottom
---@field added integer lines
---@field removed integer lines

---@param hunks claude-ide.buffer.Hunk[]
---@return claude-ide.diffview.Comparison
local function counted(hunks)
  local added, removed = require("claude-ide.hunk").count(hunks)
  return { hunks = hunks, added = added, removed = removed }
end

---@param old string[]
---@param new string[]
---@return claude-ide.diffview.Comparison
local function as_one(old, new)
  local hunk = require("claude-ide.hunk").between_ends(old, new)
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
  local added, removed, numbers = 0, 0, {}
  for _, index in
    ipairs(indices --[[@as integer[][] ]])
  do
    removed, added = removed + index[2], added + index[4]
    numbers[#numbers + 1] = table.concat(index, " ") .. " "
  end
  if #numbers > max_hunks then
    return nil, added, removed
  end
  return table.concat(numbers), added, removed
end

---@param numbers string
---@return claude-ide.buffer.Hunk[]
local function parse(numbers)
  local hunks = {}
  for old, old_count, new, new_count in numbers:gmatch("(%d+) (%d+) (%d+) (%d+) ") do
    hunks[#hunks + 1] = require("claude-ide.hunk").of_xdiff(
      assert(tonumber(old)),
      assert(tonumber(old_count)),
      assert(tonumber(new)),
      assert(tonumber(new_count))
    )
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
function M.run(old, new, done, guarded)
  local size = require("claude-ide.buffer.bytes").size
  local options = require("claude-ide.diffview.hunks").diffopt()
  if size(old) + size(new) <= MAX_DIRECT_BYTES then
    local numbers = work(joined(old), joined(new), #old + #new, options.algorithm, options.indent_heuristic)
    return done(counted(numbers and parse(numbers) or as_one(old, new).hunks))
  end
  local timer = assert(vim.uv.new_timer())
  local function finish(comparison)
    if not timer:is_closing() then
      timer:stop()
      timer:close()
      done(comparison)
    end
  end
  timer:start(
    DEADLINE_MS,
    0,
    vim.schedule_wrap(guarded(function()
      finish(as_one(old, new))
    end))
  )
  local after = vim.schedule_wrap(guarded(function(numbers, added, removed)
    if not numbers then
      local comparison = as_one(old, new)
      if added + removed > 0 then
        comparison.added, comparison.removed = added, removed
      end
      return finish(comparison)
    end
    finish({ hunks = parse(numbers), added = added, removed = removed })
  end))
  vim.uv
    .new_work(string.dump(work), after)
    :queue(joined(old), joined(new), MAX_HUNKS, options.algorithm, options.indent_heuristic)
end

return M
