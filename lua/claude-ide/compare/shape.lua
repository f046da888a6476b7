-- What two texts on the screen are to each other, as every way of drawing them needs to know it. Pure.
local M = {}

---Past so many lines that one side has more in one place, the other side is not filled up to match.
local MAX_FILLER = 400

---@class claude-ide.compare.Pair
---@field bufs table<claude-ide.ui.Side, integer>
---@field wins table<claude-ide.ui.Side, integer> `now` is missing where the layout has no window for it
---@field hunks claude-ide.compare.Differences
---@field plain boolean without Neovim's diff mode
---@field without_keys? boolean whoever made it maps the keys of diff mode, where that is missing
---@field drawing? table what marks.lua draws now
---@field marking? table what hidden_text.lua marks now
---@field sync? claude-ide.compare.ScrollSync while its windows follow each other without diff mode
---@field unified? claude-ide.compare.Unified while it is shown as one text
---@field unmap_keys? fun() takes the keys of diff mode away again

---Whether Neovim itself compares.
---@param pair claude-ide.compare.Pair
---@return boolean
function M.has_diff_mode(pair)
  return pair.wins.now ~= nil and not pair.plain
end

---Whether nothing is left of the old text, so that no line of one side stands beside one of the other.
---@param hunks claude-ide.compare.Differences
---@return boolean
function M.is_emptied(hunks)
  local hunk = hunks.list[1]
  return hunk ~= nil and hunk.new_count == 0 and hunk.old_count == #hunks.old
end

---How many rows of filler stand for lines that only the other side has.
---@param more integer lines of the other side above those of this one
---@return integer
function M.filler(more)
  return more > 0 and more <= MAX_FILLER and more or 0
end

return M
