-- A window or a buffer of a diff that the user closes. The proposal is what they decide on: as long as a window shows it
-- the diff goes on, alone where the present text is what went.
local M = {}

---@class claude-ide.proposal.Loss
---@field view claude-ide.diffview.View
---@field waits fun(): boolean whether it is still on the screen, undecided
---@field gone fun() nothing is left of the proposal
---@field mend fun() something is: puts the windows in order

---Waits until all that goes with one command is gone: `:tabclose` takes one side after the other.
---@param loss claude-ide.proposal.Loss
local function mend_soon(loss)
  vim.schedule(function()
    require("claude-ide.ui.guard.waits").when_windows_may_change(function()
      if not loss.waits() then
        return
      elseif require("claude-ide.diffview.windows").window_of_proposal(loss.view) then
        loss.mend()
      else
        loss.gone()
      end
    end)
  end)
end

---A window is being closed.
---@param loss claude-ide.proposal.Loss
---@param win integer
function M.of_window(loss, win)
  local view = loss.view
  if not vim.tbl_contains(vim.tbl_values(view.wins), win) then
    return
  end
  require("claude-ide.diffview.windows").note_loss(view)
  require("claude-ide.ui.quietly").pass_through(win)
  if win ~= view.wins.list and require("claude-ide.diffview.windows").window_of_proposal(view, win) then
    mend_soon(loss)
  else
    loss.gone()
  end
end

---A buffer was unloaded or wiped out.
---@param loss claude-ide.proposal.Loss
---@param side claude-ide.diffview.Side
function M.of_buffer(loss, side)
  if side == "now" then
    mend_soon(loss)
  else
    loss.gone()
  end
end

return M
