-- Buffers of ours, which show a text and are no file: how one is made, its text, its colours, and its end.
local M = {}

---@class claude-ide.ui.own_buffer.Opts
---@field kind? claude-ide.ui.Kind nil: it has no mark, for nothing is known of it
---@field id? integer of the decision that it belongs to
---@field name? { [1]: string, [2]: string } what it is called after, and what it is of that: see `ours.name`
---@field lines? string[] undo does not go back before them
---@field is_private? boolean what is selected there is no news for Claude
---@field listed? boolean
---@field scratch? boolean default: true
---@field bo? table<string, any> options of the buffer; else those of a scratch buffer that can be written in

---What `:edit` and `:bdelete` take from a scratch buffer.
local SCRATCH =
  { buftype = "nofile", bufhidden = "hide", swapfile = false, modeline = false, buflisted = false }

---Neovim's own number for: as many as the global option says.
local UNDO_LEVELS_OF_ALL = -123456

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
local function dress(buf, opts)
  local bo, own = vim.bo[buf], opts.bo or {}
  bo.modifiable = true -- as `nvim -M` does not have it
  local ours, kind = require("claude-ide.ui.ours"), opts.kind
  if kind and not ours.of(buf) then
    ours.mark(buf, kind, opts.id)
    if opts.name then
      ours.name(buf, opts.name[1], opts.name[2])
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
    bo.filetype = own.filetype -- last: people's autocommands find the buffer as it stays
  end
end

---Makes a buffer of ours.
---@param opts claude-ide.ui.own_buffer.Opts
---@return integer buf
function M.create(opts)
  local buf = vim.api.nvim_create_buf(opts.listed == true, opts.scratch ~= false)
  dress(buf, opts)
  return buf
end

---Makes a buffer of ours, that is not listed, what it was before `:edit` or `:bdelete`.
---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
function M.renew(buf, opts)
  for option, value in pairs(SCRATCH) do
    vim.bo[buf][option] = value
  end
  dress(buf, opts)
end

---A text of a file, beside the file: for language servers, linters and undo it is none.
---@param opts claude-ide.ui.own_buffer.Opts
---@return integer buf
function M.create_side(opts)
  opts.is_private = true
  opts.bo = vim.tbl_extend("keep", opts.bo or {}, { undolevels = -1 })
  local buf = M.create(opts)
  vim.diagnostic.enable(false, { bufnr = buf })
  return buf
end

---Changes a buffer that people cannot change.
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

---Past so many bytes the colours go: they would cost more time than a user waits.
local MAX_HIGHLIGHTED_BYTES = 512 * 1024

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
  if require("claude-ide.ui.guard.keys").is_function_chosen() then
    -- It may be one that this buffer maps.
    pcall(vim.api.nvim_set_option_value, "modified", false, { buf = buf })
    return vim.schedule(function()
      M.delete(buf)
    end)
  end
  if vim.api.nvim_buf_is_valid(buf) then
    require("claude-ide.ui.quietly").run(function()
      pcall(vim.treesitter.stop, buf)
      pcall(require("claude-ide.window").delete_buffer, buf)
      return true
    end)
  end
end

return M
