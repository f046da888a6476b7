-- After an accepted diff: waits until the CLI has written the file, then shows it in the file's buffer.
-- Never asks; what the buffer held before, unsaved changes included, is one `u` away.
local M = {}

local FIRST_LOOK_MS = 5
local LONGEST_PAUSE_MS = 100
local DEADLINE_MS = 10000

---A file that changed to something else than was accepted (another encoding, a hook that formats it) counts as written
---when it has stayed the same for so many looks.
local STEADY_LOOKS = 4

---@class claude-ide.diff.Awaited
---@field path string
---@field contents string what was accepted
---@field before? table the file's stat when the diff came
---@field against string claude-ide.diff.Now.against
---@field deadline number
---@field pause number
---@field seen? string
---@field looks integer how often it was seen like that
---@field timer table uv_timer_t
---@field group integer

---@type table<string, claude-ide.diff.Awaited>
local awaited = {}

---@param stat? table
---@return string
local function identity(stat)
  if not stat then
    return "missing"
  end
  return ("%d %d %d.%d"):format(stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec)
end

---@param entry claude-ide.diff.Awaited
local function stop(entry)
  entry.timer:stop()
  if not entry.timer:is_closing() then
    entry.timer:close()
  end
  pcall(vim.api.nvim_del_augroup_by_id, entry.group)
  if awaited[entry.path] == entry then
    awaited[entry.path] = nil
  end
end

---@param entry claude-ide.diff.Awaited
local function reload(entry)
  stop(entry)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(entry.path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  if entry.against == "buffer" then
    -- The person has seen the diff against their unsaved text and accepted it. That text stays in the undo history.
    vim.bo[buf].modified = false
  end
  local ok, err = pcall(buffer.reload_from_disk, buf)
  if not ok then
    require("claude-ide.log").error("could not reload %s: %s", entry.path, err)
  end
end

---@param entry claude-ide.diff.Awaited
---@param disk claude-ide.diff.Disk
local function judge(entry, disk)
  if awaited[entry.path] ~= entry then
    return
  end
  if disk.bytes == entry.contents then
    return reload(entry)
  end
  local now = identity(disk.stat)
  entry.looks = now == entry.seen and entry.looks + 1 or 1
  entry.seen = now
  if disk.bytes and now ~= identity(entry.before) and entry.looks >= STEADY_LOOKS then
    return reload(entry)
  end
  if vim.uv.now() >= entry.deadline then
    require("claude-ide.log").warn("%s was accepted but not written", entry.path)
    return stop(entry)
  end
  entry.pause = math.min(entry.pause * 2, LONGEST_PAUSE_MS)
  M.look(entry)
end

---@param entry claude-ide.diff.Awaited
function M.look(entry)
  entry.timer:start(entry.pause, 0, function()
    require("claude-ide.diff.present_text").read(entry.path, function(disk)
      judge(entry, disk)
    end)
  end)
end

---Until the buffer has been reloaded, Neovim's own "file has changed" question must not come up for it.
---@param path string
---@return integer group
local function hush(path)
  local group = vim.api.nvim_create_augroup("claude-ide.diff.reload " .. path, { clear = true })
  local buf = require("claude-ide.buffer").find(path)
  if buf then
    vim.api.nvim_create_autocmd("FileChangedShell", {
      group = group,
      buffer = buf,
      desc = "Claude Code: an accepted change is being written",
      callback = function()
        vim.v.fcs_choice = ""
      end,
    })
  end
  return group
end

---@param path string absolute
---@param contents string
---@param now claude-ide.diff.Now what the diff was against
function M.await(path, contents, now)
  require("claude-ide.journal").accepted(path, contents)
  if awaited[path] then
    stop(awaited[path])
  end
  local entry = {
    path = path,
    contents = contents,
    before = now.disk.stat,
    against = now.against,
    deadline = vim.uv.now() + DEADLINE_MS,
    pause = FIRST_LOOK_MS,
    looks = 0,
    timer = assert(vim.uv.new_timer()),
    group = hush(path),
  }
  awaited[path] = entry
  M.look(entry)
end

---Tells what was just read from a file, so that a next diff of it does not take the buffer for unsaved.
---@param path string
---@param disk claude-ide.diff.Disk
function M.observed(path, disk)
  local entry = awaited[path]
  if entry and disk.bytes == entry.contents then
    reload(entry)
  end
end

---Whether a change that the person accepted is still to be seen on disk.
---@param path string absolute
---@return boolean
function M.is_awaiting(path)
  if next(awaited) == nil then
    return false
  end
  local paths = require("claude-ide.path")
  local real = paths.real(path)
  for other in pairs(awaited) do
    if other == path or paths.real(other) == real then
      return true
    end
  end
  return false
end

---@return integer
function M.count()
  return vim.tbl_count(awaited)
end

return M
