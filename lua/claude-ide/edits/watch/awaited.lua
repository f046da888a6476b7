-- Files that a client is about to write, as the user has accepted: no conflict is reported, and Neovim does not prompt.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local file = lazy("claude-ide.base.file")
local files = lazy("claude-ide.edits.watch.files")
local log = lazy("claude-ide.base.log")
local paths = lazy("claude-ide.base.path")
local waits = lazy("claude-ide.base.waits")

local M = {}

local DEADLINE_MS = 10000

---A file that changed to other contents than accepted (another encoding, a formatter) counts as written when it has not changed for this
---long.
local STEADY_MS = 300

---Larger than any message.
local MAX_BYTES = 256 * 1024 * 1024

---@class claude-ide.watch.Expected
---@field path string absolute
---@field contents string accepted
---@field before? uv.fs_stat.result of the file at that time
---@field written fun() called if the file has exactly these contents
---@field arrived fun(bytes: string) called when the file was written, with these contents or others

---@class claude-ide.watch.Awaited: claude-ide.watch.Expected
---@field package seen? string the file's current state, if its contents are others
---@field package timer uv.uv_timer_t
---@field package unfollow fun()
---@field package deadline integer

---@type table<string, claude-ide.watch.Awaited> by path
local awaited = {}

---@param entry claude-ide.watch.Awaited
local function stop(entry)
  if awaited[entry.path] == entry then
    awaited[entry.path] = nil
    entry.timer:stop()
    entry.timer:close()
    entry.unfollow()
    pcall(vim.api.nvim_del_augroup_by_name, "claude-ide.watch.awaited " .. entry.path)
  end
end

---@param entry claude-ide.watch.Awaited
---@param bytes string
local function arrive(entry, bytes)
  stop(entry)
  if buffer_bytes.same_text(bytes, entry.contents) then
    entry.written()
  end
  entry.arrived(bytes)
end

local look ---@type fun(entry: claude-ide.watch.Awaited, is_steady: boolean)

---@param entry claude-ide.watch.Awaited
---@param milliseconds number
local function look_again(entry, milliseconds)
  entry.timer:start(
    math.ceil(milliseconds),
    0,
    vim.schedule_wrap(function()
      look(entry, true)
    end)
  )
end

---@param entry claude-ide.watch.Awaited
---@param is_steady boolean the file has not changed for `STEADY_MS`
---@param bytes? string
---@param stat? uv.fs_stat.result
local function judge(entry, is_steady, bytes, stat)
  local key = file.key
  local now = key(stat)
  local is_written = bytes ~= nil and buffer_bytes.same_text(bytes, entry.contents)
  local is_another = bytes ~= nil and now ~= key(entry.before)
  if awaited[entry.path] ~= entry then
    return
  elseif waits.is_command_pending() and (is_written or is_another) then
    waits.when_text_may_change("awaited " .. entry.path, function()
      look(entry, is_steady)
    end)
  elseif bytes and (is_written or is_another and is_steady and now == entry.seen) then
    arrive(entry, bytes)
  elseif vim.uv.now() >= entry.deadline then
    log.warn("%s was accepted but not written", entry.path)
    stop(entry)
  else
    entry.seen = now
    look_again(entry, is_another and STEADY_MS or entry.deadline - vim.uv.now())
  end
end

---@param entry claude-ide.watch.Awaited
---@param is_steady boolean
function look(entry, is_steady)
  file.read_later(entry.path, MAX_BYTES, function(bytes, _, stat)
    judge(entry, is_steady, bytes, stat)
  end)
end

---Suppresses Neovim's "file has changed" prompt until the file is written.
local function hush(path)
  local buf = buffer.find(path)
  if buf then
    vim.api.nvim_create_autocmd("FileChangedShell", {
      group = vim.api.nvim_create_augroup("claude-ide.watch.awaited " .. path, { clear = true }),
      buffer = buf,
      desc = "Claude Code: an accepted change is being written",
      callback = function()
        vim.v.fcs_choice = ""
      end,
    })
  end
end

---@param expected claude-ide.watch.Expected
function M.await(expected)
  local entry, path = expected, expected.path
  ---@cast entry claude-ide.watch.Awaited
  if awaited[path] then
    stop(awaited[path])
  end
  entry.timer, entry.deadline = assert(vim.uv.new_timer()), vim.uv.now() + DEADLINE_MS
  awaited[path] = entry
  hush(path)
  entry.unfollow = files.follow(path, function()
    look(entry, false)
  end)
  look(entry, false)
end

---Handles a file's contents that other code has just read.
---@param path string
---@param bytes? string
function M.observed(path, bytes)
  local entry = awaited[path]
  if entry and bytes == entry.contents then
    arrive(entry, bytes)
  end
end

---Stops waiting: the accepted contents will not be written.
---@param path string absolute
---@param contents string accepted
---@return boolean it was awaited
function M.give_up(path, contents)
  local entry = awaited[path]
  if not entry or entry.contents ~= contents then
    return false
  end
  stop(entry)
  return true
end

---Whether a change of a file is awaited, under any of its names.
---@param path string absolute
---@return boolean
function M.includes(path)
  if next(awaited) == nil then
    return false
  end
  local real = paths.real(path)
  return vim.iter(pairs(awaited)):any(function(other)
    return other == path or paths.real(other) == real
  end)
end

return M
