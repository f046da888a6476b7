-- Keeps the user's edits of a proposal that was closed by others, or not written, in a buffer.
local M = {}

---The user's version of a proposal, if edited.
---@param entry? claude-ide.proposal.Item.Shown
---@return integer? buf nil: unchanged, or never shown
---@return string? bytes
function M.typed(entry)
  local buf = entry and entry.text and entry.text.bufs.proposal
  if
    not buf
    or not vim.api.nvim_buf_is_loaded(buf)
    or vim.api.nvim_buf_get_changedtick(buf) == entry.tick
  then
    return nil
  end
  local proposal, text = require("claude-ide.buffer.bytes"), entry.text
  local format = entry.hunks and require("claude-ide.diffview.hunks").format(entry.hunks) or text.format
  local bytes = proposal.read(buf, format)
  local is_decoded = text.unsaved or entry.diff.files
  if bytes == (is_decoded and proposal.encode(text.lines, text.format) or entry.diff.proposed) then
    return nil
  end
  return buf, bytes
end

---@class claude-ide.proposal.Text a user's version
---@field lines string[]
---@field filetype string

---@param proposal integer loaded buffer
---@return claude-ide.proposal.Text
function M.copy(proposal)
  local lines = vim.api.nvim_buf_get_lines(proposal, 0, -1, false)
  return { lines = lines, filetype = vim.bo[proposal].filetype }
end

---Copies the user's edits before the buffers are deleted.
---@param diff claude-ide.Diff
---@param entry? claude-ide.proposal.Entry
function M.note(diff, entry)
  for _, one in ipairs(diff.files or { entry }) do
    local buf = M.typed(one)
    one.typed = buf and M.copy(buf) or one.typed
  end
end

---Opens buffers with the user's edits.
---@param diff claude-ide.Diff
---@param entry? claude-ide.proposal.Entry
---@return integer? buf the last one
function M.keep(diff, entry)
  M.note(diff, entry)
  local kept ---@type integer?
  for _, one in ipairs(diff.files or { entry }) do
    if one.typed then
      local path = one.path or diff.path
      kept = M.put({ id = diff.id, path = path } --[[@as claude-ide.Diff]], one.typed)
    end
  end
  return kept
end

---@param diff claude-ide.Diff
---@param text claude-ide.proposal.Text
---@return integer buf
function M.put(diff, text)
  local buf = require("claude-ide.ui.quietly").run(function()
    return require("claude-ide.ui.own_buffer").create({
      kind = "kept",
      id = diff.id,
      name = { diff.path, "kept" },
      lines = text.lines,
      listed = true,
      is_private = true,
      bo = { filetype = text.filetype },
    })
  end)
  return buf
end

return M
