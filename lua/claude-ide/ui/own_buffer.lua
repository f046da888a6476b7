-- Creates, renews, highlights and deletes the plugin's own buffers, which show a text and have no file.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local file_side = lazy("claude-ide.ui.file_side")
local quietly = lazy("claude-ide.ui.quietly")
local safely = lazy("claude-ide.base.safely")
local typing = lazy("claude-ide.ui.guard.typing")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.ui.own_buffer.Opts
---@field kind? claude-ide.ui.Kind nil: no mark
---@field id? integer of its request
---@field name? { [1]: string, [2]: string } path and role: see `ours.name`
---@field lines? string[] not undoable
---@field is_private? boolean selections in it are not sent to Claude
---@field listed? boolean
---@field scratch? boolean default: true
---@field draw_again? fun() adds what `lines` has not, after `:edit`; nil: `:edit` empties the buffer, or has another autocommand
---@field bo? table<string, any> buffer options; default: those of a writable scratch buffer

---Options of a scratch buffer that `:edit` and `:bdelete` reset.
local SCRATCH =
  { buftype = "nofile", bufhidden = "hide", swapfile = false, modeline = false, buflisted = false }

---Neovim's value for "use the global option".
local UNDO_LEVELS_OF_ALL = -123456

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
local function set_options(buf, opts)
  local bo, own = vim.bo[buf], opts.bo or {}
  bo.modifiable = true -- `nvim -M` has it off
  local kind = opts.kind
  if kind and not buffer_marks.of(buf) then
    buffer_marks.mark(buf, kind, opts.id)
    if opts.name then
      buffer_marks.name(buf, opts.name[1], opts.name[2])
    end
  end
  if opts.is_private then
    vim.b[buf].claude_private = true
  end
  if opts.lines then
    bo.undolevels = -1
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, opts.lines)
    bo.undolevels, bo.modified = UNDO_LEVELS_OF_ALL, false
  end
  for option, value in pairs(own) do
    if option ~= "filetype" then
      bo[option] = value
    end
  end
  if own.filetype then
    bo.filetype = own.filetype -- last: users' autocommands find the buffer complete
  end
end

---@param opts claude-ide.ui.own_buffer.Opts
---@return integer buf
function M.create(opts)
  local buf = vim.api.nvim_create_buf(opts.listed == true, opts.scratch ~= false)
  set_options(buf, opts)
  if opts.draw_again then
    vim.api.nvim_create_autocmd("BufReadCmd", {
      buffer = buf,
      desc = "Claude Code: keep the text at `:edit`",
      callback = safely.wrap("draw again", function()
        M.renew(buf, opts)
        opts.draw_again()
      end),
    })
  end
  return buf
end

---Restores an unlisted buffer after `:edit` or `:bdelete`.
---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
function M.renew(buf, opts)
  for option, value in pairs(SCRATCH) do
    vim.bo[buf][option] = value
  end
  set_options(buf, opts)
end

---A side of a comparison: without undo, diagnostics and language servers.
---@param opts claude-ide.ui.own_buffer.Opts
---@param file_of claude-ide.ui.FileOfLines
---@param is_old? boolean the text is that before a change
---@return integer buf
function M.create_side(opts, file_of, is_old)
  opts.is_private = true
  opts.bo = vim.tbl_extend("keep", opts.bo or {}, { undolevels = -1 })
  local buf = M.create(opts)
  vim.diagnostic.enable(false, { bufnr = buf })
  file_side.set(buf, file_of, is_old)
  return buf
end

---Changes a buffer that is not modifiable.
---@param buf integer
---@param change fun()
function M.change(buf, change)
  vim.bo[buf].modifiable = true
  local ok, err = pcall(change)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  if not ok then
    error(err, 0)
  end
end

---Size limit: highlighting more would take noticeable time.
local MAX_HIGHLIGHTED_BYTES = 512 * 1024

---Highlights without the FileType event, which would start language servers and formatters.
---@param buf integer
---@param source? integer buffer of the file itself
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
  if typing.is_function_chosen() then
    -- It may be mapped in this buffer.
    pcall(vim.api.nvim_set_option_value, "modified", false, { buf = buf })
    return vim.schedule(function()
      M.delete(buf)
    end)
  end
  if vim.api.nvim_buf_is_valid(buf) then
    quietly.run(function()
      pcall(vim.treesitter.stop, buf)
      pcall(window.delete_buffer, buf)
    end)
  end
end

return M
