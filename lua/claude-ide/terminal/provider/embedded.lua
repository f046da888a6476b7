-- A CLI in a terminal buffer. The host creates its window: a split (native.lua), or a window of snacks.nvim (snacks.lua).
-- Invariants: buffer and process survive a hidden window. The window follows the output while the user is elsewhere, unless they
-- scrolled back.

local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local closing_guard = lazy("claude-ide.ui.guard.closing")
local config = lazy("claude-ide.config")
local key = lazy("claude-ide.ui.key")
local keymaps = lazy("claude-ide.terminal.keymaps")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local paste = lazy("claude-ide.terminal.paste")
local split = lazy("claude-ide.ui.split")
local terminal_job = lazy("claude-ide.terminal.job")
local typing = lazy("claude-ide.ui.guard.typing")
local window_options = lazy("claude-ide.ui.window_options")
local zen_mode = lazy("claude-ide.ui.zen_mode")

local M = {}

---@class claude-ide.terminal.Host
---@field open_window fun(buf: integer): integer opens a window without entering it
---@field close_window fun(win: integer) closes a window of the buffer, or vacates Neovim's last

---@class claude-ide.terminal.Handle
---@field buf integer
---@field job? integer channel; nil once the process has ended
---@field closing boolean terminated by the user
---@field view? table winsaveview() of a closed window that was scrolled back

local FILETYPE = "claude-terminal"

local window = require("claude-ide.base.window")

---Disables window options that make no sense in a terminal.
local function set_window_options(win)
  local wo = window_options.bare(win)
  wo.cursorline, wo.cursorcolumn, wo.spell, wo.wrap = false, false, false, false
  wo.scrolloff, wo.sidescrolloff = 0, 0
end

local function is_scrolled_back(win)
  return vim.api.nvim_win_call(win, function()
    return vim.fn.line("w$") < vim.fn.line("$")
  end)
end

---Before leaving a window: moves the cursor to the last line, where Neovim follows the output.
local function settle(handle, win)
  if is_scrolled_back(win) then
    handle.view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  else
    handle.view = nil
    pcall(vim.api.nvim_win_set_cursor, win, { vim.api.nvim_buf_line_count(handle.buf), 0 })
  end
end

---@param win integer of the terminal's buffer
---@param on_exit fun(code: integer)
---@return integer? job
---@return string? err
local function spawn(win, spec, on_exit)
  local options = {
    cwd = spec.cwd,
    env = next(spec.env) and spec.env or nil, -- an empty table is a list
    on_exit = function(_, code)
      on_exit(code)
    end,
  }
  -- The program starts with the window's size.
  local ok, job = pcall(vim.api.nvim_win_call, win, function()
    return terminal_job.start(spec.argv, options)
  end)
  if not ok or job <= 0 then
    return nil, ok and (spec.argv[1] .. " could not be run") or tostring(job)
  end
  return job --[[@as integer]]
end

local function dispose(host, handle)
  for _, win in ipairs(vim.fn.win_findbuf(handle.buf)) do
    host.close_window(win)
  end
  if vim.api.nvim_buf_is_valid(handle.buf) then
    vim.api.nvim_buf_delete(handle.buf, { force = true })
  end
end

---Keeps the text of a terminal whose process has exited: in Terminal mode Neovim would wipe out its buffer at the next key.
local function keep_text(host, handle)
  if vim.api.nvim_get_current_buf() == handle.buf then
    vim.cmd.stopinsert()
  end
  vim.api.nvim_create_autocmd("TermEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.terminal", { clear = false }),
    buffer = handle.buf,
    command = "stopinsert",
    desc = "Claude Code: keep the text of the ended terminal",
  })
  key.map(handle.buf, "q", "close the ended terminal", function()
    dispose(host, handle)
  end)
end

---The process has exited. After an error the window stays open to show its output.
---@param on_exit fun(code: integer, closing: boolean)
local function ended(host, handle, code, on_exit)
  handle.job = nil
  local closing = handle.closing or (code == 0 and config.get().terminal.auto_close)
  local is_typing = vim.api.nvim_get_mode().mode == "t"
    and vim.api.nvim_get_current_buf() == handle.buf
    and typing.has_draft(handle.buf)
  on_exit(code, closing)
  if not vim.api.nvim_buf_is_valid(handle.buf) then
    return
  end
  if closing then
    dispose(host, handle)
  else
    keep_text(host, handle)
  end
  if is_typing then
    closing_guard.mute_typing()
  end
end

local function watch(handle)
  local group = vim.api.nvim_create_augroup("claude-ide.terminal", { clear = false })
  vim.api.nvim_create_autocmd("WinLeave", {
    group = group,
    buffer = handle.buf,
    callback = function()
      settle(handle, vim.api.nvim_get_current_win())
    end,
    desc = "Claude Code: keep the terminal's end, or its scrolled position, in sight",
  })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = handle.buf,
    callback = function()
      set_window_options(vim.api.nvim_get_current_win())
    end,
    desc = "Claude Code: hide line numbers beside the terminal",
  })
end

local function focus(handle)
  local win = window.here(handle.buf)[1] or vim.fn.win_findbuf(handle.buf)[1] -- by `:tab` in another tab page
  if not win then
    return
  end
  window.enter(win)
  if handle.view then
    vim.fn.winrestview(handle.view)
  elseif handle.job and config.get().terminal.start_insert then
    vim.cmd.startinsert()
  end
end

local function keep_focus(handle)
  zen_mode.keep("terminal " .. handle.buf, {
    is_there = function()
      return vim.api.nvim_get_current_buf() == handle.buf
    end,
    enter = function()
      focus(handle)
    end,
  })
end

---Minimum size of the terminal and of the rest.
local LEAST = { columns = 20, lines = 5 }

---Opens a window at a side of the screen, or where the modifiers of the command say.
---@param buf integer
---@return integer win not entered
function M.open_at_side(buf)
  local options = config.get().terminal
  return split.open(buf, { side = options.side, size = options.size, least = LEAST, fixed = true })
end

---Creates a provider from a host.
---@param host claude-ide.terminal.Host
---@return claude-ide.terminal.Provider
function M.provider(host)
  local provider = {}

  function provider.open(spec, on_exit)
    local buf = own_buffer.create({ kind = "terminal" })
    local handle = { buf = buf, closing = false } ---@type claude-ide.terminal.Handle
    if not spec.in_background then
      keep_focus(handle)
    end
    local ok, win = pcall(host.open_window, buf)
    if not ok then
      own_buffer.delete(buf)
      error(win, 0) -- without room, for one
    end
    set_window_options(win)
    local job, err = spawn(win, spec, function(code)
      ended(host, handle, code, on_exit)
    end)
    if not job then
      dispose(host, handle)
      return nil, err
    end
    handle.job = job
    -- With a name "term://…" a restored session would start a CLI that does not know this Neovim.
    buffer_marks.name(buf, spec.title, "terminal")
    vim.bo[buf].scrollback = 100000
    vim.b[buf].claude_terminal = job
    watch(handle)
    typing.listen()
    keymaps.attach(buf)
    paste.attach(buf)
    vim.bo[buf].filetype = FILETYPE
    if not spec.in_background then
      provider.focus(handle)
    end
    return handle
  end

  ---A terminal visible in two tab pages would have the size of the smaller window, so it moves between tab pages; one that fills a tab
  ---page is entered there.
  function provider.show(handle)
    keep_focus(handle)
    for _, win in ipairs(vim.fn.win_findbuf(handle.buf)) do
      local tab = vim.api.nvim_win_get_tabpage(win)
      if #window.splits(tab) == 1 then
        window.enter(win)
        return
      end
      host.close_window(win)
    end
    set_window_options(host.open_window(handle.buf))
  end

  function provider.hide(handle)
    for at, win in ipairs(window.here(handle.buf)) do
      if at == 1 then
        settle(handle, win)
      end
      host.close_window(win)
    end
  end

  function provider.focus(handle)
    keep_focus(handle)
    focus(handle)
  end

  function provider.is_visible(handle)
    return #window.here(handle.buf) > 0
  end

  function provider.bufnr(handle)
    return vim.api.nvim_buf_is_valid(handle.buf) and handle.buf or nil
  end

  function provider.close(handle)
    handle.closing = true
    if handle.job then
      vim.fn.jobstop(handle.job)
    end
    dispose(host, handle)
  end

  return provider
end

return M
