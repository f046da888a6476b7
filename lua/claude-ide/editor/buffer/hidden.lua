-- Loads files without showing them, for language servers, and unloads them when unused.
-- Invariants: loading one shows no prompt, creates no swap file and runs no modelines. Both are made up for when a window first shows the
-- buffer; it then belongs to the user.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local file = lazy("claude-ide.base.file")
local swap = lazy("claude-ide.editor.buffer.swap")

local M = {}

---Larger files would take a language server too long before an edit.
local MAX_BYTES = 2 * 1024 * 1024

local IDLE_MS = 10 * 60 * 1000
local SWEEP_MS = 60 * 1000

---Last use of each buffer that only we keep loaded, in `vim.uv.now()` time.
---@type table<integer, integer>
local used = {}

local sweeper = timers.new("unload hidden buffers")

local group = vim.api.nvim_create_augroup("claude-ide.buffer.hidden", { clear = true })

---Hands a buffer over to the user: it is listed and stays loaded.
---@param buf integer
function M.adopt(buf)
  if used[buf] then
    used[buf] = nil
    vim.bo[buf].buflisted = true
  end
end

---Unloads buffers that are long unused, and hands over those that the user uses.
---@param now integer `vim.uv.now()`
function M.sweep(now)
  for buf, at in pairs(used) do
    if not vim.api.nvim_buf_is_valid(buf) or not vim.api.nvim_buf_is_loaded(buf) then
      used[buf] = nil
    elseif vim.bo[buf].buflisted or vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 0 then
      M.adopt(buf)
    elseif now - at > IDLE_MS then
      used[buf] = nil
      pcall(vim.api.nvim_buf_delete, buf, { unload = true })
    end
  end
  if next(used) == nil then
    sweeper:stop()
  end
end

---Runs the current buffer's modelines, as opening it does.
local function run_modelines()
  vim.bo.modeline = vim.go.modeline
  local id = vim.api.nvim_create_autocmd("User", { group = group, pattern = "ClaudeModelines", command = "" })
  vim.api.nvim_exec_autocmds("User", { pattern = "ClaudeModelines", modeline = true })
  vim.api.nvim_del_autocmd(id)
end

---Sets the current buffer up for typing.
local function set_up(buf)
  vim.b[buf].did_ftplugin, vim.b[buf].did_indent = nil, nil
  -- Set again for Neovim's own filetype plugins, and for their window options.
  vim.bo[buf].filetype = vim.bo[buf].filetype
  run_modelines()
end

---Makes up, in the first window that shows a buffer, for steps omitted at loading.
local function finish(buf)
  M.adopt(buf)
  swap.enable(buf)
  set_up(buf)
end

local function finish_when_shown(buf)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    nested = true,
    desc = "Claude: complete a hidden buffer when first shown",
    callback = function()
      local shown = vim.api.nvim_get_current_buf() == buf
      if not shown or vim.api.nvim_win_get_config(0).relative ~= "" then
        return -- only a preview in a float
      end
      finish(buf)
      return true
    end,
  })
end

---Reads a file into a buffer without a prompt and without changing a window. Filetype detection and FileType autocommands run as usual.
---@param buf integer not loaded
---@return boolean ok
---@return string? err
function M.read(buf)
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  -- Neovim's own filetype plugins are only needed for typing, and one of them looks for a Python for a second. The user's plugins do run:
  -- some start language servers.
  vim.b[buf].did_ftplugin, vim.b[buf].did_indent = 1, 1
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent call bufload(" .. buf .. ")")
  end)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return false, ok and "could not be read" or tostring(err)
  end
  if vim.bo[buf].filetype == "" then
    local filetype = vim.filetype.match({ buf = buf })
    if filetype then
      vim.bo[buf].filetype = filetype
    end
  end
  finish_when_shown(buf)
  return true
end

---Loads a file without showing it. Returns an already loaded buffer.
---@param path string absolute
---@return integer? buf
---@return string? err
function M.load(path)
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    if used[buf] then
      used[buf] = vim.uv.now()
    end
    return buf
  end
  local stat, why_not = file.stat_regular(path)
  if not stat then
    return nil, why_not
  elseif stat.size > MAX_BYTES then
    return nil, "too large"
  end
  -- Listed but not yet shown, as after `nvim a b c`: the user's own buffer, only loaded earlier.
  local listed = buf ~= nil and vim.bo[buf].buflisted
  if not buf then
    buf = buffer.add(path)
    vim.bo[buf].buflisted = false
  end
  used[buf] = not listed and vim.uv.now() or nil
  local ok, err = M.read(buf)
  if not ok then
    used[buf] = nil
    return nil, err
  end
  if not sweeper:is_active() then
    sweeper:every(SWEEP_MS, function()
      M.sweep(vim.uv.now())
    end)
  end
  return buf
end

---Unloads the buffer of a deleted file if only we keep it loaded: its servers would keep reporting on it.
---@param path string absolute
function M.drop(path)
  local buf = buffer.find(path)
  if buf and used[buf] and not vim.bo[buf].modified and #vim.fn.win_findbuf(buf) == 0 then
    used[buf] = nil
    pcall(vim.api.nvim_buf_delete, buf, { unload = true })
  end
end

---Sets a buffer up for typing in a preview window of ours. It remains ours and unlisted until the user modifies or shows it.
---@param buf integer
---@param win integer
function M.show_to_edit(buf, win)
  if used[buf] and vim.b[buf].did_ftplugin == 1 then
    vim.api.nvim_win_call(win, function()
      set_up(buf)
    end)
  end
end

---Whether only we keep a buffer loaded.
---@param buf integer
---@return boolean
function M.owns(buf)
  return used[buf] ~= nil
end

return M
