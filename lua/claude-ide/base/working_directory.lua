-- Changes Neovim's working directory, also to one with `$NAME` in its path.
local M = {}

---@param scope "cd"|"tcd"|"lcd"
---@param argument string
local function change(scope, argument)
  vim.cmd({ cmd = scope, args = { argument }, mods = { silent = true } })
end

---@param scope "cd"|"tcd"|"lcd"
---@param path string absolute
function M.set(scope, path)
  if not path:find("$", 1, true) then
    change(scope, vim.fn.fnameescape(path))
    return
  end
  -- `:cd` replaces variables, also escaped ones (0.12), but not in what it finds the process in. The first one has Neovim keep the
  -- directory that is left.
  change(scope, ".")
  local ok, err = vim.uv.chdir(path)
  if not ok then
    error(err, 0)
  end
  change(scope, ".")
end

return M
