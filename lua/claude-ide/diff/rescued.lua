-- Text that a person typed into a proposal which then went without their say: kept in a buffer of its own.
local M = {}

---Says it where it stays to be read: leaving insert mode, as happens when the proposal goes, takes a message away.
---@param message string
local function say(message)
  local function now()
    vim.schedule(function()
      require("claude-ide.ui.notice").info(message)
    end)
  end
  if vim.api.nvim_get_mode().mode:find("^[iR]") then
    vim.api.nvim_create_autocmd("InsertLeave", {
      once = true,
      desc = "Claude Code: say where the text is",
      callback = now,
    })
  else
    now()
  end
end

---@param diff claude-ide.Diff
---@param proposal integer the proposal's buffer, still loaded
---@return integer buf
function M.put(diff, proposal)
  local lines = vim.api.nvim_buf_get_lines(proposal, 0, -1, false)
  local filetype = vim.bo[proposal].filetype
  local buf = require("claude-ide.diff.buffers").silently(function()
    local kept = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_lines(kept, 0, -1, false, lines)
    vim.api.nvim_buf_set_name(kept, ("claude://kept/%d/%s"):format(diff.id, vim.fs.basename(diff.path)))
    vim.bo[kept].filetype = filetype
    vim.b[kept].claude_private = true
    return kept
  end)
  say(("Your edits to the proposal are kept: `:buffer %d`."):format(buf))
  return buf
end

return M
