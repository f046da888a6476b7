-- Creates the two buffers of a diff: the current text, read-only, and the proposal.
-- Neither counts as a file: no file autocommands, language servers, formatters, swap files or list entries.
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local quietly = lazy("claude-ide.ui.quietly")
local waits = lazy("claude-ide.base.waits")

local M = {}

---Lines per insertion (about 4 ms).
local MAX_LINES_AT_ONCE = 10000

---Editing options to copy from the file's own buffer.
local EDITING_OPTIONS = {
  "autoindent",
  "cindent",
  "cinoptions",
  "comments",
  "commentstring",
  "expandtab",
  "formatoptions",
  "iskeyword",
  "lisp",
  "matchpairs",
  "shiftwidth",
  "smartindent",
  "softtabstop",
  "tabstop",
  "textwidth",
  "vartabstop",
}

---@param path string
---@param source? integer the file's own buffer
---@param buf integer
---@return string
local function filetype_of(path, source, buf)
  if source and vim.bo[source].filetype ~= "" then
    return vim.bo[source].filetype
  end
  local ok, filetype = pcall(vim.filetype.match, { filename = path, buf = buf })
  return ok and filetype or ""
end

---Creates one of them, empty.
---@param diff claude-ide.Diff
---@param file claude-ide.proposal.File
---@param side claude-ide.diffview.Side
---@param text { lines: string[], format: claude-ide.bytes.Format }
---@param source? integer the file's own buffer
---@return integer buf
function M.make(diff, file, side, text, source)
  -- Which of several Claudes it is, the line above says.
  local requester = diff.requester.is_one_of_several and "Claude" or diff.requester.name
  local is_left = side == "left"
  return quietly.run(function()
    ---@type claude-ide.ui.own_buffer.Opts
    local opts = {
      kind = is_left and "now" or "proposal",
      id = diff.id,
      name = is_left and { file.old_path, "now" } or { file.path, requester },
      bo = { fileformat = bytes.fileformat(text.format) },
    }
    local buf = own_buffer.create_side(opts, function(first)
      local hunks = not is_left and file.hunks
      return file.old_path, hunks and diffview_hunks.map_back(hunks, first) or first
    end)
    if source and vim.api.nvim_buf_is_valid(source) then
      for _, option in ipairs(EDITING_OPTIONS) do
        vim.bo[buf][option] = vim.bo[source][option]
      end
    end
    if not is_left then
      opts.lines = text.lines
      opts.draw_again = function() -- at `:edit!`
        vim.bo[buf].modified = true
        if file.hunks then
          diffview_hunks.follow_again(file.hunks)
        end
      end
    end
    local b = vim.b[buf]
    b.editorconfig = false
    b.autoformat = false
    b.disable_autoformat = true
    return buf
  end)
end

---Fills a new buffer, in pieces if the text is large.
---@param buf integer
---@param lines string[]
---@param done fun()
---@param guarded fun(fn: function): function wraps functions of later turns
function M.fill(buf, lines, done, guarded)
  local at = 1
  local function piece()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    quietly.run(function()
      local last = math.min(at + MAX_LINES_AT_ONCE - 1, #lines)
      local whole = at == 1 and last == #lines
      vim.api.nvim_buf_set_lines(buf, at - 1, -1, false, whole and lines or vim.list_slice(lines, at, last))
      vim.bo[buf].modified = false
      at = last + 1
    end)
    if at > #lines then
      done()
    else
      vim.schedule(function()
        waits.when_buffers_may_change(guarded(piece))
      end)
    end
  end
  if #lines > MAX_LINES_AT_ONCE then
    vim.schedule(guarded(piece)) -- the code before took its time, too
  else
    piece()
  end
end

---Sets the options of the filled buffers.
---@param path string
---@param bufs table<claude-ide.diffview.Side, integer>
---@param source? integer the file's own buffer
function M.finish(path, bufs, source)
  quietly.run(function()
    for _, buf in pairs(bufs) do
      vim.bo[buf].filetype = filetype_of(path, source, buf)
    end
    vim.bo[bufs.left].modifiable = false
    vim.bo[bufs.right].undolevels = -123456 -- use the global value
    vim.bo[bufs.right].modified = true
  end)
end

return M
