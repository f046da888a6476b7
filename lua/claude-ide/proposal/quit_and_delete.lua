-- Lets commands that refuse to lose a modified buffer do their work while diffs wait: nothing of the user's is lost with a
-- proposal that is just that, whether it is on the screen or only on its way to it. One that they have typed into keeps Neovim
-- from quitting as any modified buffer does; where it is deleted its text is kept.
local M = {}

local GROUP = "claude-ide.proposal.quit_and_delete"

local DELETES = { bdelete = true, bwipeout = true, bunload = true }

---Whether the command line that is about to run deletes buffers.
local function is_about_to_delete()
  local ok, command = pcall(vim.api.nvim_parse_cmd, vim.fn.getcmdline(), {})
  return ok and DELETES[command.cmd] == true
end

local function set_modified(bufs, modified)
  for _, buf in ipairs(bufs) do
    if vim.api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].modified = modified
    end
  end
end

---The modified buffers of diffs: of all, of those still to be decided, of those with nothing in them that a user typed.
---@alias claude-ide.proposal.ModifiedBufs fun(which: "all"|"pending"|"expendable"): integer[]

---Call when the first diff begins, and `M.stop` when the last one is gone.
---@param modified claude-ide.proposal.ModifiedBufs
function M.start(modified)
  ---@param which "all"|"expendable"
  local function step_aside(which)
    -- After a command that deletes, more may follow at once: one that quits is to see what the user has typed.
    set_modified(modified("pending"), true)
    set_modified(modified(which), false)
    require("claude-ide.ui.guard.keys").soon(function()
      set_modified(modified("pending"), true)
    end, true)
    vim.schedule(function()
      require("claude-ide.proposal.waiting_line").gather_strays()
    end)
  end

  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("QuitPre", {
    group = group,
    desc = "Claude Code: a proposed edit does not keep Neovim from quitting",
    callback = function()
      step_aside("expendable")
    end,
  })
  vim.api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "Claude Code: the buffer of a proposed edit may be deleted",
    callback = function()
      if not vim.v.event.abort and is_about_to_delete() then
        step_aside("all")
      end
    end,
  })
end

function M.stop()
  pcall(vim.api.nvim_del_augroup_by_name, GROUP)
end

return M
