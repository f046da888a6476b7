-- Creates, renews, highlights and deletes the plugin's own buffers, which show a text and have no file.
-- Invariant: `:edit` does not empty them. One that the user cannot change keeps its text, and any other gets `lines` again.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local bus = lazy("claude-ide.base.bus")
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
---@field lines? string[] not undoable; its owner may replace them until `:edit` shows them again
---@field is_private? boolean selections in it are not sent to Claude
---@field listed? boolean
---@field scratch? boolean default: true; false: it is to become the user's, who may give it a file
---@field draw_again? fun() adds what `lines` has not, after `:edit`: a text that is drawn, extmarks, keys
---@field bo? table<string, any> buffer options; default: those of a writable scratch buffer

---Options of a scratch buffer that `:edit` and `:bdelete` reset.
local SCRATCH = { buftype = "nofile", bufhidden = "hide", swapfile = false, modeline = false }

---Options that owners set later, too.
local SET_LATER = { "buftype", "modifiable", "filetype" }

---Neovim's value for "use the global option".
local UNDO_LEVELS_OF_ALL = -123456

---Sets the text, which `u` does not take away.
---@param buf integer
---@param lines string[]
---@param typed? string[] the user's text, which `u` brings back
local function set_lines(buf, lines, typed)
  local bo = vim.bo[buf]
  bo.undolevels = -1
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, typed or lines)
  bo.undolevels = UNDO_LEVELS_OF_ALL
  if typed then
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  end
  bo.modified = false
end

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
---@param typed? string[]
local function set_options(buf, opts, typed)
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
    set_lines(buf, opts.lines, typed)
  end
  for option, value in pairs(own) do
    if option ~= "filetype" and option ~= "modifiable" then
      bo[option] = value
    end
  end
  if own.modifiable ~= nil then
    bo.modifiable = own.modifiable -- after 'fileformat', which fails without (E21)
  end
  if own.filetype then
    bo.filetype = own.filetype -- last: users' autocommands find the buffer complete
  end
end

---What a buffer has as it is unloaded, to be drawn again.
---@class claude-ide.ui.own_buffer.Left
---@field lines? string[] nil: its owner draws them
---@field bo table<string, any>

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
---@return claude-ide.ui.own_buffer.Left
local function look_at(buf, opts)
  local bo = {}
  for _, option in ipairs(vim.list_extend(vim.tbl_keys(opts.bo or {}), SET_LATER)) do
    bo[option] = vim.bo[buf][option]
  end
  bo.modified = nil
  local is_drawn = opts.draw_again ~= nil and not bo.modifiable
  return { lines = not is_drawn and vim.api.nvim_buf_get_lines(buf, 0, -1, false) or nil, bo = bo }
end

---Sources of the buffers that `highlight` was called for; false: none.
---@type table<integer, integer|false|nil>
local highlighted = {}

---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
---@param left? claude-ide.ui.own_buffer.Left
local function draw_again(buf, opts, left)
  vim.api.nvim_buf_clear_namespace(buf, -1, 0, -1) -- extmarks have moved to other lines
  if not left then
    return M.renew(buf, opts)
  end
  local bo, own, lines, typed = left.bo, opts.bo or {}, left.lines, nil
  if bo.filetype == vim.bo[buf].filetype and not own.filetype then
    bo.filetype = nil -- it is unchanged: no FileType event
  end
  if bo.modifiable or not lines then
    lines = opts.lines
    typed = left.lines and not vim.deep_equal(left.lines, lines) and left.lines or nil
  end
  M.renew(buf, vim.tbl_extend("force", opts, { bo = vim.tbl_extend("keep", bo, own), lines = lines }), typed)
end

---Lets a buffer outlive `:edit`.
---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
local function keep_text(buf, opts)
  local is_quiet = vim.o.eventignore == "all" -- those who look at files need not see it
  local left ---@type claude-ide.ui.own_buffer.Left?
  local reader = vim.api.nvim_create_autocmd("BufReadCmd", {
    buffer = buf,
    desc = "Claude Code: keep the text at `:edit`",
    callback = safely.wrap("draw again", function()
      local was = left
      left = nil
      local function draw()
        draw_again(buf, opts, was)
      end
      if is_quiet then
        quietly.run(draw)
      else
        draw()
      end
      if opts.draw_again then
        opts.draw_again()
      end
      local source = highlighted[buf]
      if source ~= nil then
        M.highlight(buf, source or nil)
      end
      bus.emit("drawn_again", buf)
    end),
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    buffer = buf,
    desc = "Claude Code: note the text before `:edit`",
    callback = safely.wrap("note a text", function()
      if vim.v.exiting ~= vim.NIL then
        return false
      elseif vim.bo[buf].buftype == "" or vim.bo[buf].buftype == "terminal" then
        pcall(vim.api.nvim_del_autocmd, reader) -- it has become a file's, or a program's
        return true
      end
      left = look_at(buf, opts)
      return false
    end),
  })
end

---@param opts claude-ide.ui.own_buffer.Opts
---@return integer buf
function M.create(opts)
  local buf = vim.api.nvim_create_buf(opts.listed == true, opts.scratch ~= false)
  set_options(buf, opts)
  if opts.scratch ~= false then
    keep_text(buf, opts)
  end
  return buf
end

---Restores a buffer after `:edit` or `:bdelete`.
---@param buf integer
---@param opts claude-ide.ui.own_buffer.Opts
---@param typed? string[] the user's text, which `u` brings back
function M.renew(buf, opts, typed)
  for option, value in pairs(SCRATCH) do
    vim.bo[buf][option] = value
  end
  vim.bo[buf].buflisted = opts.listed == true
  set_options(buf, opts, typed)
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
  highlighted[buf] = source or false
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
  highlighted[buf] = nil
  if vim.api.nvim_buf_is_valid(buf) then
    quietly.run(function()
      pcall(vim.treesitter.stop, buf)
      pcall(window.delete_buffer, buf)
    end)
  end
end

return M
