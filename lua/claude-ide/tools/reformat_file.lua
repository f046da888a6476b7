-- reformat_file: formats a file as the user's editor does.
-- The caller reads the disk, so a file without unsaved changes is written afterwards, as JetBrains' documents are; one with
-- unsaved changes stays unsaved, for those are the user's to save.
local M = {}

---@return integer? buf
---@return boolean|string missing or why it cannot be loaded
local function load(path)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    require("claude-ide.buffer.disk").reload(buf)
    return buf, false
  end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil, true
  end
  local loaded, err = require("claude-ide.buffer.hidden").load(path)
  return loaded, err or false
end

---@param args { file_path: string }
---@param respond claude-ide.Respond
function M.run(args, respond)
  local buf, problem = load(args.file_path)
  if problem == true then
    respond({ outcome = "not_found" })
    return
  elseif not buf then
    respond(nil, { code = "failed", message = ("cannot format %s: %s"):format(args.file_path, problem) })
    return
  end
  local was_modified = vim.bo[buf].modified
  require("claude-ide.format").run(buf, function(formatted, err)
    if formatted and not was_modified and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local saved, why_not = require("claude-ide.tools.save_document").save(buf)
      err = not saved and "formatted, but not written: " .. why_not or nil
    end
    if err then
      respond(nil, { code = "failed", message = ("cannot format %s: %s"):format(args.file_path, err) })
    elseif formatted then
      respond({ outcome = "ok" })
    else
      respond({ outcome = "no_formatter", message = "No formatter is set up for " .. args.file_path })
    end
  end)
end

return M
