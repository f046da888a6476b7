-- Which files an edit of an agent moves, and what of it is told nothing of. No agent says where a file was: Codex tells a change at
-- the place where the file is to be, and names beside it where each changed file is, in the order of the changes; a change whose
-- text is large it leaves out (codex-acp 2.6.0).
local M = {}

---Larger files are not looked at, nor more than so much of all together: they are read at once.
local MAX_BYTES, MAX_ALL = 4 * 1024 * 1024, 32 * 1024 * 1024

---Where the order does not tell, each file is compared with each place, if that is not often. What is not found is asked in words.
local MOST_COMPARED = 1000

---@param diff table of the agent
---@return string? "add", "update" or "delete", where the agent tells
function M.kind(diff)
  return type(diff._meta) == "table" and diff._meta.kind or nil
end

---@class claude-ide.chat.acp.Moves
---@field from table<string, string> where a file is now, by where it is to be
---@field untold string[] places of which no diff is told

---@param call table
---@param diffs table[]
---@return string[] places of which no diff is told, in their order
local function other_places(call, diffs)
  local paths = require("claude-ide.path")
  local told, places = {}, {} ---@type table<string, true>, string[]
  for _, diff in ipairs(diffs) do
    told[paths.real(diff.path)] = true
  end
  for _, location in ipairs(type(call.locations) == "table" and call.locations or {}) do
    local path = type(location) == "table" and type(location.path) == "string" and location.path or ""
    if path:sub(1, 1) == "/" and not told[paths.real(path)] then
      told[paths.real(path)] = true
      places[#places + 1] = paths.normalize(path)
    end
  end
  return places
end

---Those diffs that begin the change of a file that is not there, and has a text.
---@param diffs table[]
---@return table[]
local function of_moved(diffs)
  local found, seen = {}, {} ---@type table[], table<string, true>
  for _, diff in ipairs(diffs) do
    local kind, old = M.kind(diff), type(diff.oldText) == "string" and diff.oldText or nil
    local may_be = old and (kind == "update" or kind == nil and old ~= "")
    if may_be and not seen[diff.path] and not vim.uv.fs_lstat(diff.path) then
      found[#found + 1] = diff
    end
    seen[diff.path] = true
  end
  return found
end

---Where files were that a call has at other places.
---@param call table
---@param diffs table[] of the agent
---@return claude-ide.chat.acp.Moves
function M.of(call, diffs)
  local with_lf = require("claude-ide.buffer.bytes").with_lf
  local places, moved = other_places(call, diffs), of_moved(diffs)
  local left, may_compare = MAX_ALL, #places * #moved <= MOST_COMPARED
  local from, taken, texts = {}, {}, {} ---@type table<string, string>, table<string, true>, table<string, string|false>

  ---@param place string
  ---@param diff table
  ---@return boolean
  local function held(place, diff)
    if taken[place] then
      return false
    elseif texts[place] == nil then
      local bytes = require("claude-ide.file").read_now(place, math.min(MAX_BYTES, left))
      left = left - #(bytes or "")
      texts[place] = bytes and with_lf(bytes) or false
    end
    local text, old = texts[place], with_lf(diff.oldText)
    if not text then
      return false
    elseif M.kind(diff) == "update" then
      return text:find(old, 1, true) ~= nil -- some lines of it, or none where nothing else changes
    end
    return text == old
  end

  for at, diff in ipairs(moved) do
    local place = places[at]
    if #places ~= #moved or not held(place, diff) then
      place = may_compare
          and diff.oldText ~= ""
          and vim.iter(places):find(function(other)
            return held(other, diff)
          end)
        or nil
    end
    if place then
      taken[place] = true
      from[require("claude-ide.path").normalize(diff.path)] = place
    end
  end
  return {
    from = from,
    untold = vim.tbl_filter(function(place)
      return not taken[place]
    end, places),
  }
end

return M
