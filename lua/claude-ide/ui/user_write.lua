-- Writes of the plugin's own buffers ('buftype' "acwrite"): whether the user asked for one, and copies under another name.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local quietly = lazy("claude-ide.ui.quietly")
local typing = lazy("claude-ide.ui.guard.typing")
local window = lazy("claude-ide.base.window")

local M = {}

---Whether the user requested the current write: a key triggered it directly, not through another autocommand, in a window of the buffer.
---@param buf integer which `M.follow` follows
---@return boolean asked
---@return string? reason why not, for the log
---@return boolean? automatic a plugin saves without a key
function M.is_asked(buf)
  if vim.api.nvim_get_current_buf() ~= buf then
    return false, "another buffer is the current one"
  end
  if not typing.caused_this() then
    return false, "no key was pressed", true
  elseif vim.fn.state("c") ~= "" then
    -- A Vim script callback, which may run between a key and its effect.
    return false, "a timer or another callback writes", true
  end
  local pressed_in = typing.window()
  local elsewhere = pressed_in and pressed_in ~= vim.api.nvim_get_current_win()
  if pressed_in and elsewhere and vim.api.nvim_win_is_valid(pressed_in) then
    return false, "the key was pressed in another window"
  end
  local stack = vim.fn.expand("<stack>") --[[@as string]]
  local _, autocommands = stack:gsub(" Autocommands for ", "")
  if autocommands > 1 then
    return false, "another autocommand writes", true
  end
  return true
end

---Whether it is written under another name: `:w copy`, `:saveas copy`, `:file copy | w`, `:1w >> copy`.
---@param buf integer
---@param event { match: string, file: string } target, in full and as given
---@return boolean
local function is_copy(buf, event)
  local is_own_name = buffer_marks.is_own_name
  return not (is_own_name(buf, vim.api.nvim_buf_get_name(buf)) and is_own_name(buf, event.match, event.file))
end

---Restores the buffer's name, which `:saveas` has moved to a new buffer.
local function take_name_back(buf)
  if buffer_marks.is_own_name(buf, vim.api.nvim_buf_get_name(buf)) then
    return
  end
  quietly.run(function()
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if other ~= buf and buffer_marks.is_own_name(buf, vim.api.nvim_buf_get_name(other)) then
        window.delete_buffer(other)
      end
    end
    buffer_marks.name_again(buf)
  end)
end

---Makes the current command fail without an error message: `:wq copy` must not quit.
local function fail_command()
  local flags = vim.o.cpoptions
  if not flags:find("+", 1, true) then
    -- With this flag a write of a copy fails for a buffer that is still modified.
    vim.o.cpoptions = flags .. "+"
    vim.schedule(function()
      vim.o.cpoptions = flags
    end)
  end
end

---Writes the text of a BufWriteCmd, FileWriteCmd or FileAppendCmd, and reports like Neovim.
---@param buf integer current
---@param name string
---@param appends boolean
---@param still string
---@return boolean ok
local function write_copy(buf, name, appends, still)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bang = vim.v.cmdbang == 1 and "!" or ""
  take_name_back(buf)
  local file = vim.fn.fnamemodify(name, ":.") -- after the name was restored: with 'autochdir' that changes the folder
  local command = ("noautocmd %d,%dwrite%s %s %s%s"):format(
    first,
    last,
    bang,
    vim.v.cmdarg,
    appends and ">> " or "",
    vim.fn.fnameescape(file)
  )
  local ok, result = pcall(vim.api.nvim_exec2, command, { output = true })
  if ok then
    local written = result.output:match("[^\n]*$")
    notice.as_neovim(one_line.fitting({ ("%s · %s"):format(written, still), written }))
  else
    fail_command()
    notice.as_neovim(('"%s" %s'):format(file, (tostring(result):gsub("^.*Vim%(write%):", ""))), "ErrorMsg")
  end
  return ok
end

---@class claude-ide.ui.user_write.Opts
---@field desc string what a write does: "keep a plan"
---@field still string what has not changed, for the message of a copy: "the proposal still waits"
---@field group? integer
---@field copied? fun(event: vim.api.keyset.create_autocmd.callback_args) after a copy

---Handles writes of a buffer. Those under another name write copies.
---@param buf integer
---@param opts claude-ide.ui.user_write.Opts
---@param written fun(event: vim.api.keyset.create_autocmd.callback_args)
function M.follow(buf, opts, written)
  vim.api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    group = opts.group,
    buffer = buf,
    desc = "Claude Code: " .. opts.desc,
    callback = function(event)
      if not is_copy(buf, event) then
        written(event)
      elseif write_copy(buf, event.match, event.event == "FileAppendCmd", opts.still) and opts.copied then
        opts.copied(event)
      end
    end,
  })
end

return M
