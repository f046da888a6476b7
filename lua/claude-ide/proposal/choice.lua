-- Keeping and dropping the changes of a proposal one by one. A drop is an edit like any other: `u` takes it back.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.proposal.choice")

---The dropped hunk that a line is in or beside.
---@param hunks claude-ide.diffview.Hunks
---@param side claude-ide.diffview.Side
---@param lnum integer
---@return claude-ide.buffer.Hunk?
local function dropped_at(hunks, side, lnum)
  local live = require("claude-ide.diffview.hunks")
  for _, hunk in ipairs(live.dropped(hunks)) do
    local first = side == "now" and hunk.old or live.place(hunks, hunk)
    local last = first + hunk.old_count - 1
    if first <= lnum and lnum <= last or hunk.old_count == 0 and (lnum == first or lnum == first - 1) then
      return hunk
    end
  end
end

---Drops the change that the cursor is in, or takes the one that was dropped there.
---@param view claude-ide.diffview.View
function M.toggle(view)
  local live, hunks = require("claude-ide.diffview.hunks"), view.hunks
  local side = vim.api.nvim_get_current_buf() == view.bufs.now and "now" or "proposal"
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local hunk, at = live.at(hunks, side, lnum), nil
  if hunk then
    at = hunk.new
    live.drop(hunks, hunk)
  else
    local dropped = dropped_at(hunks, side, lnum)
    if not dropped then
      return require("claude-ide.ui.notice").info("There is no change in this line.")
    end
    at = live.place(hunks, dropped)
    live.take(hunks, dropped)
  end
  local win = view.wins.proposal
  if vim.wo[win].diff then
    vim.cmd("diffupdate")
  end
  local last = vim.api.nvim_buf_line_count(view.bufs.proposal)
  vim.api.nvim_win_set_cursor(win, { math.max(math.min(at, last), 1), 0 })
  -- What is now the same on both sides would fold away under the cursor.
  vim.api.nvim_win_call(win, function()
    vim.cmd("normal! zv")
  end)
end

---Says in the proposal where something was dropped.
---@param hunks claude-ide.diffview.Hunks
function M.show_dropped(hunks)
  local live = require("claude-ide.diffview.hunks")
  vim.api.nvim_buf_clear_namespace(hunks.buf, namespace, 0, -1)
  local key = require("claude-ide.config").get().diff.keymaps.hunk
  key = type(key) == "table" and key[1] or key
  local text = key and (" ◌ dropped · %s takes it"):format(key) or " ◌ dropped"
  require("claude-ide.diffview.colours").define()
  local last = vim.api.nvim_buf_line_count(hunks.buf)
  for _, hunk in ipairs(live.dropped(hunks)) do
    vim.api.nvim_buf_set_extmark(
      hunks.buf,
      namespace,
      math.max(math.min(live.place(hunks, hunk), last), 1) - 1,
      0,
      {
        virt_text = { { text, "ClaudeDiffNote" } },
        virt_text_pos = "eol",
        undo_restore = false,
      }
    )
  end
end

return M
