-- Interprets a write of a proposal's buffer: the user's `:w` accepts. Automatic writes, partial writes and writes under another name
-- decide nothing, with a notice.
--
-- A write accepts if a key triggered it directly, not through another autocommand, in a window of the diff, and if only this buffer was
-- written. So `:w`, `:wq`, `:x`, `:update` and mappings to them accept; autosave by timer, InsertLeave, TextChanged or FocusLost,
-- `:wall`, and 'autowrite' before `:make` or CTRL-Z do not.
--
-- Commands that refuse to lose modified buffers work while diffs wait: the agent's terminal asks about an untouched proposal again. One with
-- the user's edits prevents quitting like any modified buffer, and its text is kept when it is deleted. So does one for a buffer, which
-- no one asks about again.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_window = lazy("claude-ide.base.window")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local place = lazy("claude-ide.ui.diffview.place")
local queue = lazy("claude-ide.edits.proposal.queue")
local quietly = lazy("claude-ide.ui.quietly")
local state = lazy("claude-ide.edits.proposal.state")
local typing = lazy("claude-ide.ui.guard.typing")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

---A hidden buffer that is always modified and precedes every proposal in the buffer list. Commands that write all buffers write it
---first, which identifies them.
local guard ---@type integer?
local all_are_written = false
local quitting = false

local GROUP = "claude-ide.proposal.intent"

local DELETES = { bdelete = true, bwipeout = true, bunload = true }

---Whether the pending command line deletes buffers.
local function is_about_to_delete()
  local ok, command = pcall(vim.api.nvim_parse_cmd, vim.fn.getcmdline(), {})
  return ok and DELETES[command.cmd] == true
end

---The modified buffers of diffs: all, those of waiting diffs, those that may be lost.
---@param which "all"|"pending"|"expendable"
---@return integer[]
local function modified_bufs(which)
  local bufs = {
    guard --[[@as integer]],
  }
  for _, entry in ipairs(state.entries()) do
    local is_pending = entry.diff.state == "pending"
    for _, file in ipairs(entry.diff.files) do
      local stays = which == "expendable" and is_pending and (file.base or user_edits.typed(file))
      if file.text and not stays and (which ~= "pending" or is_pending) then
        bufs[#bufs + 1] = file.text.bufs.right
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
  typing.soon(function()
    set_modified("pending", true)
  end, true)
  vim.schedule(function()
    queue.fix_misplaced_buffers()
  end)
end

---Keeps Neovim from ending with the last window of a waiting diff, which `:q` only rejects. What the user has typed into it keeps
---Neovim by itself.
local function keep_neovim()
  local win = vim.api.nvim_get_current_win()
  local entry = vim.iter(state.pending_entries()):find(function(one)
    return one.view
      and vim.tbl_contains(vim.tbl_values(one.view.wins), win)
      and not vim.iter(one.diff.files):any(user_edits.typed)
  end)
  local opened = entry and quietly.run(function()
    return place.keep_neovim(entry.view, win)
  end)
  if opened then
    vim.schedule(function()
      if vim.api.nvim_win_is_valid(win) then
        ide_window.close(opened) -- `:qa` was refused
      end
    end)
  end
end

---@return integer buf
local function make_guard()
  local buf = own_buffer.create({
    kind = "guard",
    bo = { buftype = "acwrite", modified = true },
  })
  vim.api.nvim_buf_set_name(buf, "claude://guard")
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    desc = "Claude Code: note that all buffers are being written",
    callback = function()
      all_are_written = true
      typing.soon(function()
        all_are_written = false
      end, true)
    end,
  })
  return buf
end

---Call it before the first proposal's buffer is created, and `M.stop` after the last one is deleted.
function M.start()
  if guard then
    return
  end
  typing.listen()
  guard = make_guard()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("QuitPre", {
    group = group,
    desc = "Claude Code: let Neovim quit without accepting a proposal",
    callback = function()
      -- `:wq` writes before QuitPre, `:wqall` after it.
      quitting = true
      vim.schedule(function()
        quitting = false
      end)
      step_aside("expendable")
      keep_neovim()
    end,
  })
  vim.api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "Claude Code: let a proposal's buffer be deleted",
    callback = function()
      if not vim.v.event.abort and is_about_to_delete() then
        step_aside("all")
      end
    end,
  })
end

function M.stop()
  if guard then
    vim.api.nvim_del_augroup_by_name(GROUP)
    pcall(vim.api.nvim_buf_delete, guard, { force = true })
    guard = nil
  end
end

---Whether the user requested the current write.
---@param buf integer of the proposal
---@return boolean asked
---@return string? reason why not, for the log
---@return boolean? automatic a plugin saves without a key
local function of_user(buf)
  if all_are_written or quitting then
    return false, "all buffers are written"
  end
  return user_write.is_asked(buf)
end

local told_of_autosave = false

---@param buf integer
---@param diff claude-ide.Diff
---@param path string of the proposal
local function note_unasked(buf, diff, path)
  local _, reason, automatic = of_user(buf)
  log.debug("a write of proposal %d was ignored: %s", diff.id, reason)
  if quitting then
    vim.schedule(function()
      local file = vim.fs.basename(path)
      notice.warn(one_line.fitting({
        ("Accept or reject the proposal for %s, then quit."):format(file),
        "Accept or reject the proposal, then quit.",
      }))
    end)
  elseif automatic and not told_of_autosave then
    told_of_autosave = true
    vim.schedule(function()
      notice.info("A plugin saved the proposal. That does not accept it.")
    end)
  end
end

---@param entry claude-ide.proposal.Entry
---@param file claude-ide.proposal.File
---@param event vim.api.keyset.create_autocmd.callback_args
local function on_write(entry, file, event)
  local buf, sight = event.buf, state.sight(entry)
  if event.event ~= "BufWriteCmd" then
    notice.info("`:w` accepts a whole proposal; writing a part of it does nothing.")
  elseif not of_user(buf) then
    note_unasked(buf, entry.diff, file.path)
  elseif not config.get().diff.accept_on_write then
    notice.info("Use `:Claude accept`: `:w` does not accept (`diff.accept_on_write`).")
  elseif not guard_window.proposal_accepts_key(sight) then
    if guard_window.is_typed_ahead(sight) then
      notice.info("`:w` again accepts: the diff has only just opened.")
    end
  else
    entry.actions.accept()
  end
end

---@param entry claude-ide.proposal.Entry on the screen
---@param file claude-ide.proposal.File
---@param buf integer of that file, or the list
function M.attach(entry, file, buf)
  vim.bo[buf].buftype = "acwrite"
  local opts =
    { group = entry.group, desc = "handle a write of a proposal", still = "the proposal still waits" }
  user_write.follow(buf, opts, function(event)
    on_write(entry, file, event)
  end)
end

return M
