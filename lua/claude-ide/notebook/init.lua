-- The kernels of this Neovim: one for the workspace, and one per notebook.
local lazy = require("claude-ide.lazy")
local notebook_kernel = lazy("claude-ide.notebook.kernel")
local paths = lazy("claude-ide.base.path")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local MAX_KERNELS = 6

---@type table<string, claude-ide.notebook.Kernel> by folder or notebook
local kernels = {}

---@param path? string of a notebook; nil: the workspace's kernel
---@return string key
---@return string name for the user
---@return string cwd
local function place(path)
  local of = workspace.folders()[1]
  if not path then
    return of, vim.fs.basename(of), of
  end
  local real = paths.real(path)
  return real, paths.relative(real, of), vim.fs.dirname(real)
end

---The kernel of a notebook or of the workspace, created if necessary. Its process starts on demand.
---@param path? string
---@return claude-ide.notebook.Kernel?
---@return string? err
function M.kernel(path)
  local key, name, cwd = place(path)
  if not kernels[key] then
    local count = vim.tbl_count(kernels)
    for other, kernel in pairs(kernels) do
      if count >= MAX_KERNELS and kernel.state == "off" then
        kernels[other] = nil
        count = count - 1
      end
    end
    if count >= MAX_KERNELS then
      return nil, ("%d kernels run. `:Claude kernel stop` ends one."):format(count)
    end
    kernels[key] = notebook_kernel.new(name, cwd, path and key)
  end
  return kernels[key]
end

---@param path? string of the notebook
---@param run claude-ide.notebook.Run
---@return claude-ide.notebook.Kernel?
---@return string? err
function M.run(path, run)
  local kernel, err = M.kernel(path)
  if not kernel then
    return nil, err
  end
  local ok
  ok, err = kernel:add(run)
  if not ok then
    return nil, err
  end
  return kernel
end

---All kernels, most recently used first.
---@return claude-ide.notebook.Kernel[]
function M.list()
  local list = vim.tbl_values(kernels)
  table.sort(list, function(one, other)
    return one.used > other.used
  end)
  return list
end

---The kernel that the user means: of the notebook in the current window, else the most recently used, else the workspace's.
---@param new boolean create a kernel for the notebook
---@return claude-ide.notebook.Kernel?
---@return string? err
function M.meant(new)
  local name = vim.api.nvim_buf_get_name(0)
  local path = name:find("%.ipynb$") and paths.real(name) or nil
  if path and (new or kernels[path]) then
    return M.kernel(path)
  end
  local kernel = M.list()[1]
  if kernel then
    return kernel
  end
  return M.kernel()
end

return M
