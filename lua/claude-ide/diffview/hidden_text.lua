-- Marks what would not be seen in the lines that a proposal changes, for they are to be accepted: runs of blanks, characters that
-- show nothing. What Neovim shows by itself (`<202e>`, `^M`) it shows here as well.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diffview.hidden_text")
---Bytes of a line that are looked at.
local MOST_BYTES = 64 * 1024

local function mark(buf, row, line)
  for _, found in ipairs(require("claude-ide.unseen").find(line:sub(1, MOST_BYTES))) do
    vim.api.nvim_buf_set_extmark(buf, namespace, row, found.at - 1, {
      virt_text = { { found.mark, "ClaudeDiffHidden" } },
      virt_text_pos = found.is_run and "overlay" or "inline",
      priority = 4200,
      strict = false,
      undo_restore = false,
    })
  end
end

---The lines of a proposal are other ones now.
---@param pair claude-ide.diffview.Pair
function M.refresh(pair)
  local buf = pair.bufs.proposal
  if vim.bo[buf].buftype == "" then
    return -- a file of the user's, which is under review
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local turn = {}
  pair.marking = turn
  require("claude-ide.diffview.nearest_first").draw(pair.hunks, pair.wins.proposal, function(hunk)
    local lines = vim.api.nvim_buf_get_lines(buf, hunk.new - 1, hunk.new - 1 + hunk.new_count, false)
    for at, line in ipairs(lines) do
      mark(buf, hunk.new + at - 2, line)
    end
  end, function()
    return pair.marking == turn and vim.api.nvim_win_is_valid(pair.wins.proposal)
  end)
end

---@param pair claude-ide.diffview.Pair
function M.hide(pair)
  pair.marking = nil
  if vim.api.nvim_buf_is_valid(pair.bufs.proposal) then
    vim.api.nvim_buf_clear_namespace(pair.bufs.proposal, namespace, 0, -1)
  end
end

return M
