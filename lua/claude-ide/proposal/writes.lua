-- What it means that the buffer of a proposal is written, of a diff or a changeset: the user's `:w` accepts. What is written by
-- itself, in part or under another name decides nothing, and that is said.
local M = {}

---@class claude-ide.proposal.Writes
---@field id integer
---@field path string whose proposal it is
---@field seen_by integer the buffer that tells whether the user has seen it
---@field accept fun()

local told_of_autosave = false

---@param buf integer
---@param writes claude-ide.proposal.Writes
local function note_unasked(buf, writes)
  local intent, notice = require("claude-ide.proposal.write_intent"), require("claude-ide.ui.notice")
  local _, reason, automatic = intent.of_user(buf)
  require("claude-ide.log").debug("a write of proposal %d was ignored: %s", writes.id, reason)
  if intent.is_quitting() then
    vim.schedule(function()
      local file = vim.fs.basename(writes.path)
      notice.warn(require("claude-ide.ui.one_line").fitting({
        ("You have typed into the proposal for %s: decide on it, then quit."):format(file),
        "You have typed into a proposal: decide, then quit.",
      }))
    end)
  elseif automatic and not told_of_autosave then
    told_of_autosave = true
    vim.schedule(function()
      notice.info("Something saved the proposal by itself. That does not accept it.")
    end)
  end
end

---@param buf integer
---@param writes claude-ide.proposal.Writes
---@param event { event: string, match: string, file: string } what is to be written, in full and as it was given
local function on_write(buf, writes, event)
  local copies, notice = require("claude-ide.proposal.copies"), require("claude-ide.ui.notice")
  if copies.is_copy(buf, event) then
    return copies.write(buf, event.match, event.event == "FileAppendCmd")
  elseif event.event ~= "BufWriteCmd" then
    notice.info("Nothing is decided: a part of a proposal is not written. `:w` accepts all of it.")
  elseif not require("claude-ide.proposal.write_intent").of_user(buf) then
    note_unasked(buf, writes)
  elseif not require("claude-ide.config").get().diff.accept_on_write then
    notice.info("Writing does not accept here. `:Claude accept` does.")
  elseif not require("claude-ide.ui.guard.window").proposal_accepts_key(writes.seen_by) then
    if require("claude-ide.ui.guard.window").is_typed_ahead(writes.seen_by) then
      notice.info("Not accepted: this proposal has only just come. `:w` again accepts it.")
    end
  else
    writes.accept()
  end
end

---@param group integer
---@param buf integer
---@param writes claude-ide.proposal.Writes
function M.attach(group, buf, writes)
  vim.api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: a proposal is written",
    callback = function(event)
      on_write(buf, writes, event)
    end,
  })
end

return M
