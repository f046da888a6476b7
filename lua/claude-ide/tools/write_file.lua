-- writeFile, a plain method: through the buffer where one is loaded, so that the user sees it and can undo it.
-- The client's bytes reach the disk as they are: BufWritePre, where formatters live, does not run; BufWritePost does.
local M = {}

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
  require("claude-ide.buffer.disk").note_agreement(buf)
  local told, complaint =
    pcall(vim.api.nvim_exec_autocmds, "BufWritePost", { buffer = buf, modeline = false })
  if not told then
    require("claude-ide.log").warn("a BufWritePost autocommand failed: %s", tostring(complaint))
  end
  return nil
end

---@param buf integer loaded, unmodified, and as the file on disk
---@return string? err
local function replace(buf, content)
  local disk = require("claude-ide.buffer.disk")
  local now = disk.decoding(buf)
  now.fileencoding = "" -- the content is text; Neovim encodes it when it writes
  local lines, format = require("claude-ide.buffer.format").decode(content, now)
  if not lines then
    return "the content is not text that this buffer could hold"
  end
  require("claude-ide.buffer.stamp").agree(buf)
  require("claude-ide.buffer.patch").set_text(buf, lines, format --[[@as claude-ide.buffer.Format]])
  local err = write(buf)
  if err and vim.bo[buf].modified then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent undo")
    end)
    vim.bo[buf].modified = false
  end
  return err
end

---@param args { path: string, content: string } path absolute
---@param respond claude-ide.Respond
function M.run(args, respond)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(args.path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) or not buffer.is_file(buf) then
    respond({ loaded = false })
    return
  end
  local err
  if vim.bo[buf].modified then
    err = "it has unsaved changes in Neovim"
  else
    local _, why_not = require("claude-ide.buffer.disk").reload(buf)
    if why_not and why_not ~= "no file" then
      err = "its buffer cannot take over what is on disk: " .. why_not
    else
      err = replace(buf, args.content)
    end
  end
  if err then
    respond(nil, { code = "failed", message = ("failed to write file: %s: %s"):format(args.path, err) })
  else
    respond({ written = true })
  end
end

return M
