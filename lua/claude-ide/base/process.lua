-- Checks processes: whether they run, their name and parent.
local M = {}

---What Linux tells of a process: "pid (name) state ppid …". The name may contain anything, so it ends at the last parenthesis.
---@param pid integer
---@return string? nil: gone, or not visible
local function stat_of(pid)
  local file = io.open(("/proc/%d/stat"):format(pid))
  if not file then
    return nil
  end
  local status = file:read("*a") --[[@as string?]]
  file:close()
  return status or ""
end

---Whether a process has not ended. One that has ended exists until its parent asks for its result, which tmux may do much later.
---@param pid integer
---@return boolean
function M.runs(pid)
  local _, _, code = vim.uv.kill(pid, 0)
  if code == "ESRCH" then -- EPERM for another user's process
    return false
  end
  local status = stat_of(pid)
  return not status or status:match("^.*%) (%S)") ~= "Z"
end

---@class claude-ide.Process
---@field name string
---@field parent integer

---Name and parent of a process. On Linux from /proc: Neovim would run `ps` and block, and small systems lack it.
---@param pid integer
---@return claude-ide.Process? process nil: gone, or not visible
function M.get(pid)
  local status = stat_of(pid)
  if status then
    local name, parent = status:match("%((.*)%) %S (%d+)")
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
