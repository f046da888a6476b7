-- The two buffers of a diff: the present text to look at, the proposal to edit. Makes and unmakes them.
-- Neither counts as a file for anybody: no file autocommand, language server, formatter, swap file or list entry.
local M = {}

---So many lines are put into a buffer at one time (about 4 ms).
local MAX_LINES_AT_ONCE = 10000

---What a text is edited with, taken from the file's own buffer where there is one.
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

---Makes one of the two, empty.
---@param diff claude-ide.Diff
---@param side claude-ide.diffview.Side
---@param format claude-ide.bytes.Format
---@param source? integer the file's own buffer
---@return integer buf
function M.make(diff, side, format, source)
  return require("claude-ide.ui.quietly").run(function()
    local buf = require("claude-ide.ui.own_buffer").create_side({
      kind = side,
      id = diff.id,
      name = side == "now" and { diff.old_path, "now" } or { diff.path, "Claude" },
      bo = { fileformat = require("claude-ide.buffer.bytes").fileformat(format) },
    })
    if source and vim.api.nvim_buf_is_valid(source) then
      for _, option in ipairs(EDITING_OPTIONS) do
        vim.bo[buf][option] = vim.bo[source][option]
      end
    end
    local b = vim.b[buf]
    b.editorconfig = false
    b.autoformat = false
    b.disable_autoformat = true
    return buf
  end)
end

---Fills a new buffer, a piece in each turn of the event loop where there is much.
---@param buf integer
---@param lines string[]
---@param done fun()
---@param guarded fun(fn: function): function for what runs in a later turn
function M.fill(buf, lines, done, guarded)
  local at = 1
  local function piece()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    require("claude-ide.ui.quietly").run(function()
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
        require("claude-ide.ui.guard.waits").when_buffers_may_change(guarded(piece))
      end)
    end
  end
  if #lines > MAX_LINES_AT_ONCE then
    vim.schedule(guarded(piece)) -- what comes before it took its time, too
  else
    piece()
  end
end

---Makes the filled buffers what they are: one to look at, one to edit.
---@param diff claude-ide.Diff
---@param bufs table<claude-ide.diffview.Side, integer>
---@param source? integer the file's own buffer
function M.finish(diff, bufs, source)
  require("claude-ide.ui.quietly").run(function()
    for _, buf in pairs(bufs) do
      vim.bo[buf].filetype = filetype_of(diff.path, source, buf)
    end
    vim.bo[bufs.now].modifiable = false
    vim.bo[bufs.proposal].buftype = "acwrite"
    vim.bo[bufs.proposal].undolevels = -123456 -- the global value again
    vim.bo[bufs.proposal].modified = true
  end)
end

---Puts the proposal's own text back, as `:edit!` wants it.
---@param buf integer
---@param lines string[]
function M.refill(buf, lines)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modified = true
end

return M
