-- Health check of the server and of lock files, including those of other editors.

local lazy = require("claude-ide.lazy")
local address = lazy("claude-ide.base.address")
local autostart = lazy("claude-ide.autostart")
local config = lazy("claude-ide.config")
local file = lazy("claude-ide.base.file")
local ide_workspace = lazy("claude-ide.server.workspace")
local json_table = lazy("claude-ide.base.json_table")
local native = lazy("claude-ide.library.native")
local paths = lazy("claude-ide.base.path")
local process = lazy("claude-ide.base.process")
local server = lazy("claude-ide.server")

local M = {}

local OWNER_ONLY_FILE, OWNER_ONLY_FOLDER = "600", "700"

---@return string? permissions as three octal digits
local function permissions(path)
  local stat = vim.uv.fs_stat(path)
  return stat and ("%o"):format(stat.mode % 512)
end

local function check_address()
  local info = server.info()
  local host = config.get().server.host
  if info then
    vim.health.ok(("Listening on %s:%d"):format(info.host, info.port))
    host = info.host
  elseif config.get().auto_start and autostart.why_not() then
    local reason = autostart.why_not()
    vim.health.info(
      ("The server is not started in this Neovim: %s. `:ClaudeConnect` starts it."):format(reason)
    )
  else
    vim.health.warn("The server is not running", "`:ClaudeConnect` starts it, or shows the reason.")
  end
  if not address.is_loopback(host) then
    vim.health.warn(("server.host is %s: other machines can try to connect"):format(host), {
      "They still need the token of the lock file, but the connection is not encrypted.",
      "Use it only between a container and its host, behind a firewall.",
    })
  end
  local status = info and native.status()
  if status and not status.knows_processes then
    vim.health.info(
      "On this system a token is not bound to a process: any program of yours that reads it can connect."
    )
  end
  local workspace = ide_workspace.announcement()
  vim.health.info("Project: " .. table.concat(workspace.folders, ", "))
  if not vim.deep_equal(workspace.announced, workspace.folders) then
    vim.health.info("A CLI finds this Neovim in: " .. table.concat(workspace.announced, ", "))
  end
end

local function check_folder(folder)
  local mode = permissions(folder)
  if not mode then
    vim.health.info(folder .. " does not exist yet: the server creates it when it starts")
  elseif mode ~= OWNER_ONLY_FOLDER then
    vim.health.warn(
      ("%s has the permissions %s: others can see what you work on"):format(folder, mode),
      "chmod 700 " .. vim.fn.shellescape(folder)
    )
  else
    vim.health.ok(("%s, permissions %s"):format(folder, mode))
  end
end

---@return table? lock
local function read_lock(path)
  return json_table(file.read_start(path, 64 * 1024))
end

local function check_own_lock(path)
  local mode = permissions(path)
  if not mode then
    vim.health.error(
      path .. " is gone: no CLI can find this Neovim",
      "It could not be restored: see `:Claude log`."
    )
  elseif mode ~= OWNER_ONLY_FILE then
    vim.health.error(
      ("%s has the permissions %s: others can read the token"):format(path, mode),
      "chmod 600 " .. vim.fn.shellescape(path)
    )
  else
    local lock = read_lock(path)
    local name = lock and type(lock.ideName) == "string" and lock.ideName or "unnamed"
    vim.health.ok(("The lock file is %s. In /ide this Neovim is called %q."):format(path, name))
  end
end

local function folders_of(lock)
  local folders = type(lock.workspaceFolders) == "table" and lock.workspaceFolders or {}
  return vim.tbl_filter(function(folder)
    return type(folder) == "string"
  end, folders)
end

local function overlap(theirs, ours)
  local within = paths.within
  for _, one in ipairs(theirs) do
    for _, other in ipairs(ours) do
      if within(one, other) or within(other, one) then
        return true
      end
    end
  end
  return false
end

local function pid_of(lock)
  local pid = tonumber(lock.pid)
  return pid and pid >= 1 and pid % 1 == 0 and pid --[[@as integer]] or nil
end

local function check_other_lock(path)
  local lock = read_lock(path)
  if not lock then
    vim.health.warn(
      path .. " is not a lock file that can be read",
      "Delete it if no editor is starting just now."
    )
    return
  end
  local pid = pid_of(lock)
  local name = type(lock.ideName) == "string" and lock.ideName or "unnamed editor"
  if pid and not process.runs(pid) then
    vim.health.info(
      ("%s (%s, pid %d) is of a process that has ended; the CLI removes it"):format(path, name, pid)
    )
    return
  end
  local folders = folders_of(lock)
  local text = ("Another editor: %s, pid %s, in %s"):format(
    name,
    pid or "unknown",
    table.concat(folders, ", ")
  )
  if overlap(folders, ide_workspace.folders()) then
    vim.health.warn(text, {
      "A CLI that you start in a terminal finds both and connects to neither until you choose with /ide.",
      "One that `:Claude` starts always comes here.",
    })
  else
    vim.health.info(text)
  end
end

function M.check()
  vim.health.start("Can a CLI find this Neovim?")
  check_address()
  local info = server.info()
  local own = {}
  for _, path in ipairs(info and info.lock_files or {}) do
    own[vim.fs.normalize(path)] = true
  end
  for _, folder in ipairs(server.lock_dirs()) do
    check_folder(folder)
    for path in pairs(own) do
      if vim.fs.dirname(path) == vim.fs.normalize(folder) then
        check_own_lock(path)
      end
    end
    for name in vim.fs.dir(folder) do
      local path = vim.fs.normalize(folder .. "/" .. name)
      if name:match("%.lock$") and not own[path] then
        check_other_lock(path)
      end
    end
  end
end

return M
