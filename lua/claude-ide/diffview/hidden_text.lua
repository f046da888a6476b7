-- Marks hidden content in changed lines of a proposal, which are about to be accepted: long blanks, invisible characters. Neovim itself
-- already shows some (`<202e>`, `^M`).
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diffview.hidden_text")
---Maximum bytes of a line to check.
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

---The proposal's lines have changed.
---@param pair claude-ide.diffview.Pair
function M.refresh(pair)
  local buf = pair.bufs.proposal
  if vim.bo[buf].buftype == "" then
    return -- a user's file under review
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
