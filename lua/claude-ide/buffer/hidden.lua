-- Files loaded without being shown, so that language servers see them. Owns their life: they go when nobody needs them.
-- Invariant: such a buffer is unlisted, has no swap file, ran no modeline, and asked nothing. Once somebody shows it,
-- lists it or changes it, it is theirs.
local M = {}

---Larger files are not worth a language server's time before an edit.
local MAX_BYTES = 2 * 1024 * 1024

local IDLE_MS = 10 * 60 * 1000
local SWEEP_MS = 60 * 1000

---When each was last asked for, in `vim.uv.now()` time.
---@type table<integer, integer>
local used = {}

---@type uv.uv_timer_t?
local sweeper

local group = vim.api.nvim_create_augroup("claude-ide.buffer.hidden", { clear = true })

---Forgets a buffer that became somebody's, and gives it what any other has.
---@param buf integer
function M.adopt(buf)
  if used[buf] then
    used[buf] = nil
    require("claude-ide.buffer.swap").enable(buf)
    vim.bo[buf].buflisted = true
    vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  end
end

local function sweep()
  local now = vim.uv.now()
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
  if next(used) == nil and sweeper then
    sweeper:close()
    sweeper = nil
  end
end

---Reads a file into a buffer without a prompt and without changing any window. Filetype and FileType autocommands run
---as for any file. There is no swap file yet: `buffer.swap` makes one when the person gets to see the buffer.
---@param buf integer not loaded
---@return boolean ok
---@return string? err
function M.read(buf)
  vim.bo[buf].swapfile = false
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
  return true
end

---Loads a file that is not to be seen. Gives the buffer that is already loaded, if there is one.
---@param path string absolute
---@return integer? buf
---@return string? err
function M.load(path)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    if used[buf] then
      used[buf] = vim.uv.now()
    end
    return buf
  end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil, "no such file"
  elseif stat.size > MAX_BYTES then
    return nil, "too large"
  end
  local listed = buf ~= nil and vim.bo[buf].buflisted
  buf = buf or vim.fn.bufadd(path)
  -- Listed but never shown, as after `nvim a b c`: the person's own, merely read earlier than they would have.
  vim.bo[buf].buflisted = listed
  vim.bo[buf].modeline = listed and vim.go.modeline
  used[buf] = vim.uv.now()
  local ok, err = M.read(buf)
  if not ok then
    used[buf] = nil
    return nil, err
  end
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    desc = "A hidden buffer that is shown becomes an ordinary one",
    callback = function(event)
      M.adopt(event.buf)
    end,
  })
  if not sweeper then
    sweeper = vim.uv.new_timer()
    sweeper:start(SWEEP_MS, SWEEP_MS, vim.schedule_wrap(sweep))
    sweeper:unref()
  end
  return buf
end

---Whether a buffer is one that only we keep loaded.
---@param buf integer
---@return boolean
function M.owns(buf)
  return used[buf] ~= nil
end

return M
