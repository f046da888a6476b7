-- After an accepted diff: waits until the CLI has written the file, then shows it in the file's buffer.
-- Never asks; unsaved text stays, and what the buffer held before is one `u` away.
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
---@field before_bytes? string what the file held then
---@field against string claude-ide.diff.Now.against
---@field afterwards? claude-ide.diff.Afterwards where there is unsaved text to be kept
---@field written fun() what was accepted is on disk
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
    require("claude-ide.watch.expected").remove(entry.path)
  end
end

---@param buf integer
---@param entry claude-ide.diff.Awaited
---@param bytes? string what is on disk
---@return boolean done
local function keep_unsaved(buf, entry, bytes)
  local afterwards = entry.afterwards
  if not bytes or not vim.bo[buf].modified or entry.against == "buffer" and not afterwards then
    return false
  end
  local unsaved = require("claude-ide.diff.unsaved")
  afterwards = afterwards or unsaved.typed_meanwhile(buf, entry.before_bytes, entry.contents)
  local disk = require("claude-ide.buffer.bytes").decode(bytes)
  if not afterwards or not unsaved.settle(buf, afterwards, disk) then
    require("claude-ide.watch.conflict").consider(buf)
  end
  return true
end

---@param entry claude-ide.diff.Awaited
---@param bytes? string what is on disk
local function reload(entry, bytes)
  stop(entry)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(entry.path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  if keep_unsaved(buf, entry, bytes) then
    return
  elseif entry.against == "buffer" then
    -- The user has seen the diff against their unsaved text and accepted it. That text stays in the undo history.
    vim.bo[buf].modified = false
  end
  local ok, err = pcall(require("claude-ide.buffer.disk").reload, buf)
  if not ok then
    require("claude-ide.log").error("could not reload %s: %s", entry.path, err)
  end
end

---@param entry claude-ide.diff.Awaited
---@param disk claude-ide.diff.Disk
local function judge(entry, disk)
  if awaited[entry.path] ~= entry then
    return
  elseif require("claude-ide.ui.guard.waits").is_command_pending() then
    entry.pause = LONGEST_PAUSE_MS
    return M.look(entry)
  elseif disk.bytes and require("claude-ide.buffer.bytes").same_text(disk.bytes, entry.contents) then
    entry.written()
    return reload(entry, disk.bytes)
  end
  local now = identity(disk.stat)
  entry.looks = now == entry.seen and entry.looks + 1 or 1
  entry.seen = now
  if disk.bytes and now ~= identity(entry.before) and entry.looks >= STEADY_LOOKS then
    return reload(entry, disk.bytes)
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
---@param afterwards? claude-ide.diff.Afterwards
---@param written fun() it holds just that
function M.await(path, contents, now, afterwards, written)
  require("claude-ide.journal").accepted(path, contents)
  if awaited[path] then
    stop(awaited[path])
  end
  local entry = {
    path = path,
    contents = contents,
    before = now.disk.stat,
    before_bytes = now.disk.bytes,
    against = now.against,
    afterwards = afterwards,
    written = written,
    deadline = vim.uv.now() + DEADLINE_MS,
    pause = FIRST_LOOK_MS,
    looks = 0,
    timer = assert(vim.uv.new_timer()),
    group = hush(path),
  }
  awaited[path] = entry
  require("claude-ide.watch.expected").add(path)
  M.look(entry)
end

---Tells what was just read from a file, so that a next diff of it does not take the buffer for unsaved.
---@param path string
---@param disk claude-ide.diff.Disk
function M.observed(path, disk)
  local entry = awaited[path]
  if entry and disk.bytes == entry.contents then
    entry.written()
    reload(entry, disk.bytes)
  end
end

---What was accepted will not be written. What came to the file meanwhile is shown, or told where there is unsaved text.
---@param path string absolute
---@param contents string what was accepted
function M.give_up(path, contents)
  local entry = awaited[path]
  if not entry or entry.contents ~= contents then
    return
  end
  stop(entry)
  local buf = require("claude-ide.buffer").find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    require("claude-ide.watch.conflict").consider(buf)
  end
end

---@return integer
function M.count()
  return vim.tbl_count(awaited)
end

return M
