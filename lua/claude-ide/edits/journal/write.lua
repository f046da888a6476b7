-- Writes an undo through the file's buffer, as one undo step, saved; `u` reverts it. Files that Claude created are deleted.
-- Invariants: the user's unsaved changes are not saved, and no formatter runs. An undo follows no link that has come since (`obstacle`).
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local disk = lazy("claude-ide.editor.buffer.disk")
local file = lazy("claude-ide.base.file")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local native = lazy("claude-ide.library.native")
local option = lazy("claude-ide.base.option")
local patch = lazy("claude-ide.editor.buffer.patch")
local paths = lazy("claude-ide.base.path")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

local WHOLE = 2147483647 -- bytes, which no buffer has

---Why an undo may not write at a path: something else is there than the file that Claude changed. No link is followed at any step.
---@param path string
---@param real string the path with links resolved, as it was then
---@param links integer names (hard links) that the file had then
---@return string? words
---@return boolean? is_folder
function M.obstacle(path, real, links)
  local stat = vim.uv.fs_lstat(real)
  if paths.real(path) ~= real or stat and stat.type == "link" then
    return "a symbolic link has taken its place, or that of its folder"
  elseif not stat then
    return nil
  elseif stat.type == "directory" then
    return "a folder has taken its place", true
  elseif stat.type ~= "file" then
    return ("a %s has taken its place"):format(stat.type)
  elseif stat.nlink > links then
    return "it is a hard link of another file now"
  end
end

---Makes the folders that a file needs.
---@param path string of the file
---@return boolean? ok
---@return string? err
function M.make_folders(path)
  local ok, err = file.make_folder(vim.fs.dirname(path))
  return ok or nil, not ok and tostring(err):gsub("^Vim:E%d+: ", "") or nil
end

---Writes a file whole or not at all, also where Neovim is killed or the disk is full. A file that would become another one by that is
---written in place: see `rewrite` in crates/system/src/file.rs.
---@param path string
---@param bytes string
---@param mode? integer permissions of a file that is made again
---@return boolean? ok
---@return string? err
function M.to_disk(path, bytes, mode)
  local can, why = M.make_folders(vim.uv.fs_realpath(path) or path)
  if not can then
    return nil, why
  end
  return native.rewrite(path, bytes, mode)
end

---Writes a buffer to its file, without the formatters of others.
---@param buf integer
---@param format? claude-ide.buffer.Format default: as the buffer has it
---@param mode? integer permissions of a file that is made again
---@return boolean? ok
---@return string? err
function M.save(buf, format, mode)
  format = format or buffer_format.of(buf)
  local bo, path = vim.bo[buf], vim.api.nvim_buf_get_name(buf)
  mode = not vim.uv.fs_stat(path) and mode or nil
  local fix, before = bo.fixendofline, file.read_now(path, WHOLE)
  bo.fixendofline = fix and format.final
  -- Only formatters and their like stay out; who listens for a file that was written is told as ever.
  local ok, err = pcall(option.without_events, "BufWritePre", function()
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent keepalt keepjumps write! ++p")
    end)
  end)
  bo.fixendofline = fix
  if not ok and before then
    native.overwrite(path, before) -- on a full disk `:write!` makes no backup, and has half of it written
  elseif ok and mode and vim.uv.fs_chmod(path, mode) then
    stamp.agree(buf) -- or Neovim would read it again, for its new permissions
  end
  return ok or nil, not ok and tostring(err):gsub("\n.*", ""):gsub("^.-(E%d+: )", "%1") or nil
end

---Removes the folders that became empty, as far up as they were made since, and Neovim does not work in them.
---@param path string of a file that was removed
---@param since integer seconds since the epoch
function M.remove_folders(path, since)
  for folder in vim.fs.parents(path) do
    local stat = vim.uv.fs_stat(folder)
    local is_kept = not stat or stat.birthtime.sec < since or paths.real(folder) == vim.uv.cwd()
    if is_kept or not vim.uv.fs_rmdir(folder) then
      return
    end
  end
end

---Removes a file that Claude made. In a buffer that people see its text goes in one step, so that `u` and `:w` bring it
---back; one that was only loaded unseen goes with it.
---@param path string
---@param buf? integer loaded
---@param since integer seconds since the epoch: when Claude began
---@return boolean? ok
---@return string? err
local function remove(path, buf, since)
  local is_unseen = buf and hidden.owns(buf) and not vim.bo[buf].modified and #vim.fn.win_findbuf(buf) == 0
  local ok, err = vim.uv.fs_unlink(path)
  if not ok then
    return nil, err
  elseif buf and is_unseen then
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  elseif buf then
    patch.set_text(buf, { "" }, buffer_format.of(buf))
    stamp.agree(buf)
    stamp.settle(buf, "keep") -- or Neovim would miss the file the next time it looks
  end
  M.remove_folders(path, since)
  return true
end

---Puts a link, or nothing, where a link or a file is.
---@param path string
---@param target? string nil: there should be nothing
---@param since integer seconds since the epoch: when Claude began, whose folders go if they are empty
---@return boolean? ok
---@return string? err
function M.replace(path, target, since)
  if vim.uv.fs_lstat(path) then
    local ok, err = vim.uv.fs_unlink(path)
    if not ok then
      return nil, err
    end
  end
  if not target then
    M.remove_folders(path, since)
    return true
  end
  local can, why = M.make_folders(path)
  if not can then
    return nil, why
  end
  local ok, err = vim.uv.fs_symlink(target, path)
  return ok or nil, err
end

---Makes a buffer read its file in the encoding and format that it has.
---@param buf integer loaded, unmodified
local function read_again(buf)
  stamp.agree(buf)
  local bo = vim.bo[buf]
  local command = ("silent keepalt keepjumps edit! ++enc=%s ++ff=%s"):format(bo.fileencoding, bo.fileformat)
  pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd(command)
  end)
end

---Gives a file other contents.
---@param path string
---@param bytes? string nil: there should be no file
---@param mode? integer permissions of a file that is made again
---@param since integer seconds since the epoch: when Claude began, whose folders go if they are empty
---@return boolean? ok
---@return string? err also with `ok`, where something is left for the user to do
function M.through_buffer(path, bytes, mode, since)
  local buf = buffer.loaded(path)
  if not bytes then
    return remove(path, buf, since)
  end
  local is_new = not vim.uv.fs_stat(path)
  if is_new and (not buf or vim.bo[buf].modified) then
    return M.to_disk(path, bytes, mode) -- what the user has typed meanwhile stays beside it
  end
  buf = buf or hidden.load(path)
  local lines, format
  if buf then
    lines, format = disk.decode(buf, bytes)
  end
  if not buf or not lines or not format then
    -- Too large for a hidden buffer, or in an encoding that Neovim has to read itself.
    if buf and vim.bo[buf].modified then
      return nil, "it has unsaved changes in another encoding"
    end
    local ok, err = M.to_disk(path, bytes, mode)
    if ok and buf and is_new then
      read_again(buf) -- its text went with the file, and a reload only follows a file that was there
    elseif ok and buf then
      disk.reload(buf)
    end
    return ok, err
  end
  local modified = vim.bo[buf].modified
  patch.set_text(buf, lines, format)
  if modified then
    return true, "it had unsaved changes, so it was not saved"
  end
  return M.save(buf, format, mode)
end

return M
