-- Whether a process runs, what it is called and what started it.
local M = {}

---@param pid integer
---@return boolean
function M.runs(pid)
  local _, _, code = vim.uv.kill(pid, 0)
  return code ~= "ESRCH" -- of somebody else's the system says EPERM
end

---@class claude-ide.Process
---@field name string
---@field parent integer

---What the system says of a process. On Linux nobody is asked: Neovim would run `ps` and wait for it, and small systems have none.
---@param pid integer
---@return claude-ide.Process? nil: it is gone, or cannot be seen
function M.get(pid)
  local file = io.open(("/proc/%d/stat"):format(pid))
  if file then
    local status = file:read("*a")
    file:close()
    -- "pid (name) state ppid …": the name may hold anything, so its end is the last parenthesis.
    local name, parent = (status or ""):match("%((.*)%) %S (%d+)")
    return name and {
      name = name,
      parent = tonumber(parent) --[[@as integer]],
    } or nil
  elseif vim.fn.isdirectory("/proc/self") == 1 then
    return nil
  end
  local ok, process = pcall(vim.api.nvim_get_proc, pid)
  if not ok or type(process) ~= "table" then
    return nil
  end
  return { name = process.name, parent = process.ppid }
end

return M
