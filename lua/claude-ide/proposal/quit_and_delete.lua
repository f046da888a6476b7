-- Lets commands that refuse to lose modified buffers work while diffs wait, since an untouched proposal is no user's text. A proposal
-- with the user's edits prevents quitting like any modified buffer; when it is deleted, its text is kept.
local M = {}

local GROUP = "claude-ide.proposal.quit_and_delete"

local DELETES = { bdelete = true, bwipeout = true, bunload = true }

---Whether the pending command line deletes buffers.
local function is_about_to_delete()
  local ok, command = pcall(vim.api.nvim_parse_cmd, vim.fn.getcmdline(), {})
  return ok and DELETES[command.cmd] == true
end

---The modified buffers of diffs: all, those of waiting diffs, those without user's edits.
---@param which "all"|"pending"|"expendable"
---@return integer[]
local function modified_bufs(which)
  local guard, kept = require("claude-ide.proposal.writes").guard(), require("claude-ide.proposal.rescued")
  local bufs = guard and { guard } or {}
  for _, entry in pairs(require("claude-ide.proposal.state").entries()) do
    local is_pending = entry.diff.state == "pending"
    for _, file in ipairs(entry.diff.files) do
      local is_typed_in = which == "expendable" and is_pending and kept.typed(file)
      if file.text and not is_typed_in and (which ~= "pending" or is_pending) then
        bufs[#bufs + 1] = file.text.bufs.proposal
      end
    end
  end
  return bufs
end

local function set_modified(which, modified)
  for _, buf in ipairs(modified_bufs(which)) do
    if vim.api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].modified = modified
    end
  end
end

---@param which "all"|"expendable"
local function step_aside(which)
  -- Another command may follow a deletion directly: one that quits must see the user's edits.
  set_modified("pending", true)
  set_modified(which, false)
  require("claude-ide.ui.guard.keys").soon(function()
    set_modified("pending", true)
  end, true)
  vim.schedule(function()
    require("claude-ide.proposal.waiting_line").gather_strays()
  end)
end

---Call it when the first diff begins, and `M.stop` after the last one.
function M.start()
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
