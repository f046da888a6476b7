-- Draws hunks near the window at once, and the rest in later turns of the event loop.
local M = {}

local slice = require("claude-ide.base.slice")

---Lines around the window to draw at once.
local NEAR = 120

---Time of a slice: the user types meanwhile.
local SLICE_MS = 2

---Delay of the rest, so that the diff is displayed first.
local LATER_MS = 20

---@class claude-ide.diffview.Lines of the right side: a hunk, or a part of one
---@field new integer
---@field new_count integer

---@generic T: claude-ide.diffview.Lines
---@param list T[]
---@param hunks claude-ide.diffview.Differences
---@param win integer of the right side
---@param draw fun(lines: T)
---@param wanted fun(): boolean false: the rest was drawn otherwise, or is no longer shown
function M.draw(list, hunks, win, draw, wanted)
  local later = {}
  local top, bottom = vim.fn.line("w0", win) - NEAR, vim.fn.line("w$", win) + NEAR
  for _, lines in ipairs(list) do
    if lines.new + lines.new_count >= top and lines.new <= bottom then
      draw(lines)
    else
      later[#later + 1] = lines
    end
  end
  local at = 1
  local function some()
    if not wanted() then
      return
    end
    local is_over = slice.begin(SLICE_MS)
    -- If the text has changed since, everything is about to be drawn again.
    while not hunks.scheduled and at <= #later do
      draw(later[at])
      at = at + 1
      if is_over() then
        break
      end
    end
    if at <= #later then
      slice.later(some)
    end
  end
  if #later > 0 then
    slice.later(some, LATER_MS)
  end
end

return M
