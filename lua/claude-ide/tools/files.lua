-- Reads, writes, saves and formats files through the user's buffers.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local disk = lazy("claude-ide.editor.buffer.disk")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local ide_format = lazy("claude-ide.editor.format")
local patch = lazy("claude-ide.editor.buffer.patch")
local privacy = lazy("claude-ide.server.privacy")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

local function failed(respond, message)
  respond(nil, { code = "failed", message = message })
end

M.read_file = {
  ---A plain method: returns a loaded buffer's text instead of the disk's.
  ---@param args { path: string } absolute
  ---@param respond claude-ide.Respond
  run = function(args, respond)
    if privacy.withholds(args.path) then
      return failed(respond, "failed to read file: the user keeps it private")
    end
    local buf = buffer.loaded_file(args.path)
    if not buf then
      return respond({ loaded = false })
    end
    disk.reload(buf)
    respond({ loaded = true, contents = buffer.text(buf) })
  end,
}

---Writes a buffer without BufWritePre, where formatters run: the client's bytes are written unchanged. BufWritePost runs.
---@return string? err
local function write(buf)
  local fixeol = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent noautocmd keepalt lockmarks write")
  end)
  vim.bo[buf].fixendofline = fixeol
  if not ok then
    return (tostring(err):gsub("^.-(E%d+: )", "%1"))
  end
  disk.note_agreement(buf)
  disk.emit(buf, "BufWritePost")
  return nil
end

---@param buf integer loaded, unmodified, and in sync with the disk
---@return string? err
local function replace(buf, content)
  local now = disk.decoding(buf)
  now.fileencoding = "" -- the content is decoded; Neovim encodes it on write
  local lines, format = buffer_format.decode(content, now)
  if not lines then
    return "the content is not text that this buffer could hold"
  end
  stamp.agree(buf)
  local before = buffer_format.as_read(buf)
  patch.set_text(buf, lines, format --[[@as claude-ide.buffer.Format]])
  local err = write(buf)
  if err and vim.bo[buf].modified then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent undo")
    end)
    patch.set_format(buf, before) -- of which the undo tree knows nothing
    vim.bo[buf].modified = false
  end
  return err
end

---@return string? err
local function write_text(buf, content)
  if vim.bo[buf].modified then
    return "it has unsaved changes in Neovim"
  end
  local _, why_not = disk.reload(buf)
  if why_not and why_not ~= "no file" then
    return "its buffer cannot take over what is on disk: " .. why_not
  end
  return replace(buf, content)
end

M.write_file = {
  ---A plain method: writes through a loaded buffer, so that the user sees the change and can undo it.
  ---@param args { path: string, content: string } path absolute
  ---@param respond claude-ide.Respond
  run = function(args, respond)
    local buf = buffer.loaded_file(args.path)
    local err = buf and write_text(buf, args.content)
    if err then
      failed(respond, ("failed to write file: %s: %s"):format(args.path, err))
    else
      respond(buf and { written = true } or { loaded = false })
    end
  end,
}

---Writes a modified buffer like `:update`, with the user's autocommands.
---Invariant: it never prompts. Where `:write` would, or needs a `!`, it fails with a reason.
---@return boolean ok
---@return string? err
local function save(buf)
  if vim.bo[buf].modified and stamp.is_conflict(buf) then
    return false, "the file was changed on disk since it was read"
  end
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt lockmarks update")
  end)
  if not ok then
    return false, (tostring(err):gsub("^.-(E%d+: )", "%1"):gsub("^Vim%b():", ""))
  elseif vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
    return false, "the buffer is still modified after the write"
  end
  return true
end

M.save_document = {
  ---@param args { filePath: string }
  ---@param respond claude-ide.Respond
  run = function(args, respond)
    local buf, saved, message =
      buffer.loaded_file(args.filePath), false, "Document not open: " .. args.filePath
    if buf then
      local err
      saved, err = save(buf)
      message = saved and "Document saved" or "Failed to save document: " .. err
    end
    respond({ success = saved, filePath = args.filePath, saved = saved, message = message })
  end,
}

---@return integer? buf
---@return string? why_not nil without a buffer: no such file
local function load(path)
  local buf = buffer.loaded(path)
  if buf then
    disk.reload(buf)
    return buf
  end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil
  end
  return hidden.load(path)
end

M.reformat_file = {
  ---Formats a file like the user's editor. The caller reads the disk, so an unmodified file is written afterwards, like JetBrains'
  ---documents; one with unsaved changes is not.
  ---@param args { file_path: string }
  ---@param respond claude-ide.Respond
  run = function(args, respond)
    local function cannot(why)
      failed(respond, ("cannot format %s: %s"):format(args.file_path, why))
    end
    local buf, problem = load(args.file_path)
    if not buf and problem then
      return cannot(problem)
    elseif not buf then
      return respond({ outcome = "not_found" })
    end
    local was_modified = vim.bo[buf].modified
    ide_format.run(buf, function(formatted, err)
      if formatted and not was_modified and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
        local saved, why_not = save(buf)
        err = not saved and "formatted, but not written: " .. why_not or nil
      end
      if err then
        cannot(err)
      elseif formatted then
        respond({ outcome = "ok" })
      else
        respond({ outcome = "no_formatter", message = "No formatter is set up for " .. args.file_path })
      end
    end)
  end,
}

return M
