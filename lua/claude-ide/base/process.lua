-- Checks processes: whether they run, their name and parent.
local M = {}

---@param pid integer
---@return boolean
function M.runs(pid)
  local _, _, code = vim.uv.kill(pid, 0)
  return code ~= "ESRCH" -- EPERM for another user's process
end

---@class claude-ide.Process
---@field name string
---@field parent integer

---Name and parent of a process. On Linux from /proc: Neovim would run `ps` and block, and small systems lack it.
---@param pid integer
---@return claude-ide.Process? process nil: gone, or not visible
function M.get(pid)
  local file = io.open(("/proc/%d/stat"):format(pid))
  if file then
    local status = file:read("*a")
    file:close()
    -- "pid (name) state ppid …": the name may contain anything, so it ends at the last parenthesis.
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
