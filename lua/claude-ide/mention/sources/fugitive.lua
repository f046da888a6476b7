-- vim-fugitive's `:Git` window. Read at 61b51c0 (2025-07-15): `fugitive#GX()` gives the file in the work tree that the
-- cursor's line is about, else the word under the cursor; of a commit's line it gives the work tree itself, which is
-- `FugitiveWorkTree()`.
local M = {}

---@return string? path
local function file_on(lnum)
  vim.api.nvim_win_set_cursor(0, { lnum, 0 })
  local path = vim.fn["fugitive#GX"]()
  local tree = require("claude-ide.path").normalize(vim.fn.FugitiveWorkTree())
  if type(path) ~= "string" or path == "" then
    return nil
  end
  path = require("claude-ide.path").normalize(vim.fn.fnamemodify(path, ":p"))
  return path ~= tree and vim.uv.fs_stat(path) and path or nil
end

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local view = vim.fn.winsaveview()
  local first, last = require("claude-ide.mention.list_window").lines(range)
  local found, seen = {}, {}
  for lnum = first, last do
    local path = file_on(lnum)
    if path and not seen[path] then
      seen[path] = true
      found[#found + 1] = { path = path }
    end
  end
  vim.fn.winrestview(view)
  return found
end

return M
