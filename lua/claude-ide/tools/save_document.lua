-- saveDocument: writes the buffer of exactly that file, as the user's own `:write` would (their autocommands run).
-- Invariant: nothing asks a question. Where `:write` would ask, or needs a `!`, the call fails and says why.
local M = {}

local function reason(err)
  return (err:gsub("^.-(E%d+: )", "%1"):gsub("^Vim%b():", ""))
end

---Writes a loaded buffer, if it is modified.
---@param buf integer
---@return boolean ok
---@return string? err
function M.save(buf)
  if vim.bo[buf].modified and require("claude-ide.buffer.stamp").is_conflict(buf) then
    return false, "the file was changed on disk since it was read"
  end
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt lockmarks update")
  end)
  if not ok then
    return false, reason(tostring(err))
  elseif vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
    return false, "the buffer is still modified after the write"
  end
  return true
end

---@param args { filePath: string }
---@param respond claude-ide.Respond
function M.run(args, respond)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(args.filePath)
  local function answer(saved, message)
    respond({ success = saved, filePath = args.filePath, saved = saved, message = message })
  end
  if not buf or not buffer.is_file(buf) or not vim.api.nvim_buf_is_loaded(buf) then
    answer(false, "Document not open: " .. args.filePath)
    return
  end
  local ok, err = M.save(buf)
  if ok then
    answer(true, "Document saved")
  else
    answer(false, "Failed to save document: " .. err)
  end
end

return M
