-- The two buffers of a diff: the present text to look at, the proposal to edit. Makes and unmakes them.
-- Neither counts as a file for anybody: no file autocommand, language server, formatter, swap file or list entry.
local M = {}

---Past so many bytes the colours go: they would cost more time than a person waits.
local MAX_HIGHLIGHTED_BYTES = 512 * 1024

---So many lines are put into a buffer at one time (about 10 ms).
local MAX_LINES_AT_ONCE = 40000

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

---Runs `fn` with no autocommand of anybody.
---@generic T
---@param fn fun(): T
---@return T
function M.silently(fn)
  local ignored = vim.o.eventignore
  vim.o.eventignore = "all"
  local ok, result = pcall(fn)
  vim.o.eventignore = ignored
  if not ok then
    error(result, 0)
  end
  return result
end

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

---A name of its own for each request. It ends as the file's does, since that is what a tab line shows.
---@param diff claude-ide.Diff
---@param side claude-ide.ui.Side
---@return string
local function name_of(diff, side)
  local folder = side == "now" and "now/" or ""
  return ("claude://%d/%s%s"):format(diff.id, folder, vim.fs.basename(diff.path))
end

---Makes one of the two, empty.
---@param diff claude-ide.Diff
---@param side claude-ide.ui.Side
---@param format claude-ide.diff.Format
---@param source? integer the file's own buffer
---@return integer buf
function M.make(diff, side, format, source)
  return M.silently(function()
    local buf = vim.api.nvim_create_buf(false, true)
    local bo = vim.bo[buf]
    bo.swapfile = false
    bo.modeline = false
    bo.undolevels = -1
    bo.fileformat = require("claude-ide.buffer.bytes").fileformat(format)
    bo.bufhidden = "hide"
    vim.api.nvim_buf_set_name(buf, name_of(diff, side))
    if source and vim.api.nvim_buf_is_valid(source) then
      for _, option in ipairs(EDITING_OPTIONS) do
        bo[option] = vim.bo[source][option]
      end
    end
    local b = vim.b[buf]
    b.claude_private = true -- the selection in a diff is no news for Claude
    b.editorconfig = false
    b.autoformat = false
    b.disable_autoformat = true
    vim.diagnostic.enable(false, { bufnr = buf })
    return buf
  end)
end

---How soon to look again whether buffers and windows may change.
local LOOK_AGAIN_MS = 50

---A buffer that does not exist.
local NO_BUFFER = 2147483647

---@return boolean
local function is_locked()
  local _, err = pcall(vim.api.nvim_buf_delete, NO_BUFFER, {})
  return tostring(err):find("E565") ~= nil
end

---@param is_in_the_way fun(): boolean
---@param fn fun()
local function call_without(is_in_the_way, fn)
  if is_in_the_way() then
    vim.defer_fn(function()
      call_without(is_in_the_way, fn)
    end, LOOK_AGAIN_MS)
  else
    fn()
  end
end

---Calls a function as soon as buffers may change: at once, but for where an expression of a mapping waits for a key.
---@param fn fun()
function M.when_unlocked(fn)
  call_without(is_locked, fn)
end

---Calls a function as soon as windows may change, which they may not beside the command-line window either.
---@param fn fun()
function M.when_windows_may_change(fn)
  call_without(function()
    return vim.fn.getcmdwintype() ~= "" or is_locked()
  end, fn)
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
    M.silently(function()
      local last = math.min(at + MAX_LINES_AT_ONCE - 1, #lines)
      local whole = at == 1 and last == #lines
      vim.api.nvim_buf_set_lines(buf, at - 1, -1, false, whole and lines or vim.list_slice(lines, at, last))
      vim.bo[buf].modified = false
      at = last + 1
      return true
    end)
    if at > #lines then
      done()
    else
      vim.schedule(function()
        M.when_unlocked(guarded(piece))
      end)
    end
  end
  piece()
end

---Makes the filled buffers what they are: one to look at, one to edit.
---@param diff claude-ide.Diff
---@param bufs table<claude-ide.ui.Side, integer>
---@param source? integer the file's own buffer
function M.finish(diff, bufs, source)
  M.silently(function()
    for _, buf in pairs(bufs) do
      vim.bo[buf].filetype = filetype_of(diff.path, source, buf)
    end
    vim.bo[bufs.now].modifiable = false
    vim.bo[bufs.proposal].buftype = "acwrite"
    vim.bo[bufs.proposal].undolevels = -123456 -- the global value again
    vim.bo[bufs.proposal].modified = true
    return true
  end)
end

---Puts the proposal's own text back, as `:edit!` wants it.
---@param buf integer
---@param lines string[]
function M.refill(buf, lines)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modified = true
end

---Colours, without the FileType event that would bring language servers and formatters along.
---@param buf integer
---@param source? integer the file's own buffer
function M.highlight(buf, source)
  local filetype = vim.bo[buf].filetype
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  if filetype == "" or bytes > MAX_HIGHLIGHTED_BYTES then
    return
  end
  local highlighters = vim.treesitter.highlighter.active
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local by_syntax = source
    and vim.api.nvim_buf_is_loaded(source)
    and not highlighters[source]
    and vim.bo[source].syntax ~= ""
  if not by_syntax and pcall(vim.treesitter.start, buf, language) then
    return
  end
  vim.bo[buf].syntax = filetype
end

---@param buf integer
function M.delete(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    M.silently(function()
      pcall(vim.treesitter.stop, buf)
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
      return true
    end)
  end
end

return M
