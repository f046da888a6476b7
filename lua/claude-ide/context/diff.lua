-- `#diff`: changes since the last commit, without withheld files.
local M = {}

local function unsaved_and_withheld(withheld)
  local notes = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].modified and require("claude-ide.privacy").verdict(buf) == "tell" then
      notes[#notes + 1] = ("(%s has unsaved changes that are not in it)"):format(
        vim.api.nvim_buf_get_name(buf)
      )
    end
  end
  if withheld > 0 then
    notes[#notes + 1] = ("(%d files are withheld)"):format(withheld)
  end
  return #notes > 0 and table.concat(notes, "\n") .. "\n" or ""
end

---@return string[] paths of files that their buffers withhold
local function private_paths()
  local paths = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    paths[#paths + 1] = require("claude-ide.buffer").is_private(buf) and vim.api.nvim_buf_get_name(buf) or nil
  end
  return paths
end

---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.read(at, _, done)
  require("claude-ide.journal.checkpoints").uncommitted(at.cwd, private_paths(), function(told)
    if told.text then
      done({ text = unsaved_and_withheld(told.withheld) .. told.text })
    else
      done(nil, told.why)
    end
  end)
end

return M
