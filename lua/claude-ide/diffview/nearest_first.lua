-- Draws hunks near the window at once, and the rest in later turns of the event loop.
local M = {}

---Lines around the window to draw at once.
local NEAR = 120

---Hunks per turn (about 2 ms).
local AT_ONCE = 40

---Delay of the rest, so that the diff is displayed first.
local LATER_MS = 20

---@param hunks claude-ide.diffview.Differences
---@param win integer of the proposal
---@param draw fun(hunk: claude-ide.buffer.Hunk)
---@param wanted fun(): boolean false: the rest was drawn otherwise, or is no longer shown
function M.draw(hunks, win, draw, wanted)
  local later = {}
  local top, bottom = vim.fn.line("w0", win) - NEAR, vim.fn.line("w$", win) + NEAR
  for _, hunk in ipairs(hunks.list) do
    if hunk.new + hunk.new_count >= top and hunk.new <= bottom then
      draw(hunk)
    else
      later[#later + 1] = hunk
    end
  end
  local at = 1
  local function some()
    if not wanted() then
      return
    end
    -- If the text has changed since, everything is about to be drawn again.
    if not hunks.scheduled then
      for i = at, math.min(at + AT_ONCE - 1, #later) do
        draw(later[i])
      end
    end
    at = at + AT_ONCE
    if at <= #later then
      vim.schedule(some)
    end
  end
  if #later > 0 then
    vim.defer_fn(some, LATER_MS)
  end
end

return M
