-- Keeps the user's edits of a proposal that was closed by others, or not written, in a buffer. It is modified until `:w {file}`, so that
-- Neovim warns before the edits are lost: at `:edit`, `:bdelete`, `:qa`.
local lazy = require("claude-ide.lazy")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local files = lazy("claude-ide.edits.proposal.files")
local hunks = lazy("claude-ide.ui.diffview.hunks")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local quietly = lazy("claude-ide.ui.quietly")
local typing = lazy("claude-ide.ui.guard.typing")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

---The user's version of a proposal, if edited.
---@param file claude-ide.proposal.File
---@return integer? buf nil: unchanged, or never shown
---@return string? bytes
function M.typed(file)
  local text = file.text
  if not text or not files.is_touched(file) then
    return nil
  end
  local bytes =
    buffer_bytes.read(text.bufs.right, hunks.format(file.hunks --[[@as claude-ide.diffview.Hunks]]))
  if bytes == (not text.unsaved and file.proposed or buffer_bytes.encode(text.lines, text.format)) then
    return nil
  end
  return text.bufs.right, bytes
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
function M.note(diff)
  for _, file in ipairs(diff.files) do
    local buf = M.typed(file)
    file.typed = buf and M.copy(buf) or file.typed
  end
end

---Opens buffers with the user's edits.
---@param diff claude-ide.Diff
---@return integer? buf the last one
function M.keep(diff)
  M.note(diff)
  local kept ---@type integer?
  for _, file in ipairs(diff.files) do
    kept = file.typed and M.put(diff.id, file.path, file.typed) or kept
  end
  return kept
end

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
local function follow_writes(buf, opts)
  typing.listen() -- a write counts if a key asked for it
  user_write.follow(buf, {
    desc = "write recovered edits to a file",
    still = "your edits also stay here",
    copied = function(event)
      if event.event == "BufWriteCmd" then
        opts.lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
        vim.bo[buf].modified = false
      end
    end,
  }, function()
    if user_write.is_asked(buf) then
      notice.error("These edits have no file: use `:w {file}`.")
    end
  end)
end

---@param id integer of the diff
---@param path string
---@param text claude-ide.proposal.Text
---@return integer buf
function M.put(id, path, text)
  ---@type claude-ide.ui.own_buffer.Opts
  local opts = {
    kind = "kept",
    id = id,
    name = { path, "recovered" },
    lines = text.lines,
    listed = true,
    is_private = true,
    bo = { buftype = "acwrite", filetype = text.filetype },
  }
  local buf ---@type integer
  opts.draw_again = function()
    vim.bo[buf].modified = opts.lines == text.lines
  end
  buf = quietly.run(function()
    return own_buffer.create(opts)
  end)
  vim.bo[buf].modified = true
  follow_writes(buf, opts)
  return buf
end

return M
