-- Swap files of other processes, checked without the E325 prompt, which blocks the event loop.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local paths = lazy("claude-ide.base.path")

local M = {}

---The path of a file's first swap file, for each folder of 'directory'. (`swapfilelist()` gives wrong paths for folders that end with
---`//`.)
---@param path string absolute
---@return string[]
local function candidates(path)
  local found = {}
  for _, folder in ipairs(vim.opt.directory:get()) do
    if folder:sub(-2) == "//" then
      found[#found + 1] = vim.fn.expand(folder:sub(1, -2)) .. path:gsub("/", "%%") .. ".swp"
    else
      local beside = folder == "." or vim.startswith(folder, "./")
      local where = beside and vim.fs.dirname(path) .. folder:sub(2) or vim.fn.expand(folder) --[[@as string]]
      found[#found + 1] = where:gsub("/$", "") .. "/." .. vim.fs.basename(path) .. ".swp"
    end
  end
  return found
end

---Whether another process has a swap file of this file: it is edited elsewhere, or a crash left text to recover.
---@param path string absolute
---@return boolean
function M.exists(path)
  path = paths.real(path)
  for _, swap in ipairs(candidates(path)) do
    if vim.uv.fs_stat(swap) then
      local info = vim.fn.swapinfo(swap)
      if not info.error and info.pid ~= vim.uv.os_getpid() then
        return true
      end
    end
  end
  return false
end

---Gives a buffer that was read without a swap file its own, or, if another process has one, protects it from accidental writes.
---@param buf integer loaded
function M.enable(buf)
  if vim.bo[buf].swapfile or not vim.go.swapfile then
    return
  end
  local path = vim.api.nvim_buf_get_name(buf)
  if not M.exists(path) then
    vim.bo[buf].swapfile = true
    return
  end
  vim.bo[buf].readonly = true
  notice.warn(one_line.of_file(path, {
    "%s has a swap file, so it is open read-only. See `:help swap-file`.",
    "Read-only, as it has a swap file: %s",
  }))
end

return M
