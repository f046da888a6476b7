-- Writes an undo through the file's buffer: one undo step, saved, so that `u` brings it back.
-- Invariant: unsaved changes of the person are never saved for them, and no formatter runs over the text.
local M = {}

local ORDINARY = 420 -- 0644

---@param path string
---@param bytes string
---@param mode? integer permissions of a file that is made again
---@return boolean? ok
---@return string? err
local function write_file(path, bytes, mode)
  local stat = vim.uv.fs_stat(path)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local fd, err = vim.uv.fs_open(path, "w", stat and stat.mode % 4096 or mode or ORDINARY)
  if not fd then
    return nil, err
  end
  local written, problem = vim.uv.fs_write(fd, bytes, 0)
  vim.uv.fs_close(fd)
  return written == #bytes or nil, problem
end

---@param buf integer
---@param format claude-ide.buffer.Format
---@return boolean? ok
---@return string? err
local function save(buf, format)
  local bo, ignored = vim.bo[buf], vim.o.eventignore
  local fix = bo.fixendofline
  -- Only formatters and their like stay out; who listens for a file that was written is told as ever.
  vim.o.eventignore = ignored == "" and "BufWritePre" or ignored .. ",BufWritePre"
  bo.fixendofline = fix and format.endofline
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt keepjumps write! ++p")
  end)
  vim.o.eventignore = ignored
  bo.fixendofline = fix
  return ok or nil, not ok and tostring(err) or nil
end

---Removes a file that Claude made. A buffer keeps the text as unsaved, so `:w` brings it back.
---@param path string
---@param buf? integer
---@return boolean? ok
---@return string? err
local function remove(path, buf)
  local ok, err = vim.uv.fs_unlink(path)
  if not ok then
    return nil, err
  elseif buf then
    vim.bo[buf].modified = true
  end
  return true
end

---Gives a file other contents.
---@param path string
---@param bytes? string nil: there should be no file
---@param mode? integer permissions of a file that is made again
---@return boolean? ok
---@return string? err also with `ok`, where something is left for the person to do
function M.through_buffer(path, bytes, mode)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  buf = buf and vim.api.nvim_buf_is_loaded(buf) and buf or nil
  if not bytes then
    return remove(path, buf)
  elseif not buf and not vim.uv.fs_stat(path) then
    return write_file(path, bytes, mode)
  end
  local is_new = not vim.uv.fs_stat(path)
  buf = buf or buffer.load_hidden(path)
  local lines, format
  if buf then
    lines, format =
      require("claude-ide.buffer.format").decode(bytes, require("claude-ide.buffer.disk").decoding(buf))
  end
  if not buf or not lines or not format then
    -- Too large for a hidden buffer, or in an encoding that Neovim has to read itself.
    if buf and vim.bo[buf].modified then
      return nil, "it has unsaved changes in another encoding"
    end
    local ok, err = write_file(path, bytes)
    if ok and buf then
      buffer.reload_from_disk(buf)
    end
    return ok, err
  end
  local modified = vim.bo[buf].modified
  require("claude-ide.buffer.patch").set_text(buf, lines, format)
  if modified then
    return true, "it had unsaved changes, so it was not saved"
  end
  local ok, err = save(buf, format)
  if ok and is_new and mode then
    vim.uv.fs_chmod(path, mode)
  end
  return ok, err
end

return M
