-- Which changed files a checkpoint may copy: measured before any of them is read. What is large, withheld from Claude or more
-- than there is room for is left where it is; only that it changed is known.
local M = {}

---Larger files cannot be undone anyway.
local MAX_FILE_BYTES = 4 * 1024 * 1024

---Of one checkpoint together.
M.MAX_BYTES = 64 * 1024 * 1024
local MAX_FILES = 10000

---More are not even looked at.
local MAX_LISTED = 50000

---Looking at files goes in steps of so long, so that the user's keys get their turn.
local STEP_NS = 4 * 1000 * 1000

---What a file is that git did not tell of before: made since, or there all the time, as one that was ignored, or whose folder was
---another repository. Changed since, it may also have been moved here.
---@alias claude-ide.journal.Meeting "made"|"unchanged"|"changed"

---@class claude-ide.journal.Candidates
---@field names string[] to be copied, or to be noted as gone; as git names them
---@field bytes integer
---@field skipped table<string, string> what else differs, by name: equal strings for equal contents
---@field met table<string, claude-ide.journal.Meeting|false> by name; false: it is gone

---@param path string
---@param stat uv.fs_stat.result
---@param found claude-ide.journal.Candidates
---@return boolean
local function has_room(path, stat, found)
  return stat.size <= MAX_FILE_BYTES
    and found.bytes + stat.size <= M.MAX_BYTES
    and #found.names < MAX_FILES
    and (stat.type == "link" or vim.uv.fs_access(path, "R") == true)
end

---The clock of file systems is so much behind ours, in seconds.
local CLOCK_LAG = 0.02

---@param time { sec: integer, nsec: integer } of a file
---@param moment number seconds since the epoch
---@return boolean also where the file system knows no such time
local function is_before(time, moment)
  if time.nsec == 0 then
    return time.sec < math.floor(moment) -- some know whole seconds only
  end
  return time.sec + time.nsec / 1e9 < moment - CLOCK_LAG
end

---@param stat uv.fs_stat.result
---@param looked_at? number when this was looked at before, in seconds since the epoch
---@return claude-ide.journal.Meeting
local function meeting(stat, looked_at)
  if not looked_at then
    return "made"
  elseif is_before(stat.ctime, looked_at) then
    return "unchanged"
  end
  return stat.birthtime.sec > 0 and is_before(stat.birthtime, looked_at) and "changed" or "made"
end

---@param top string
---@param name string
---@param found claude-ide.journal.Candidates
---@param looked_at? number
local function look_at(top, name, found, looked_at)
  local path = top .. "/" .. name
  local stat = vim.uv.fs_lstat(path)
  if stat and stat.type ~= "file" and stat.type ~= "link" then
    return -- another repository, or no file at all
  elseif require("claude-ide.privacy").denied_by(path) or (stat and not has_room(path, stat, found)) then
    found.skipped[name] = stat and require("claude-ide.buffer.stamp").key(stat) or ""
  else
    found.names[#found.names + 1] = name
    found.met[name] = stat and meeting(stat, looked_at) or false
    found.bytes = found.bytes + (stat and stat.size or 0)
  end
end

---@param top string of the work tree
---@param listed string of `ls-files -z`, what comes first is more important
---@param looked_at? number when this was done before, in seconds since the epoch
---@param done fun(found: claude-ide.journal.Candidates) on the main loop
function M.choose(top, listed, looked_at, done)
  local found = { names = {}, bytes = 0, skipped = {}, met = {} }
  local seen, count = {}, 0
  local each = listed:gmatch("[^%z]+")
  local function step()
    local began = vim.uv.hrtime()
    while vim.uv.hrtime() - began < STEP_NS do
      local name = each()
      if not name or count >= MAX_LISTED then
        return done(found)
      elseif not seen[name] then
        seen[name], count = true, count + 1
        look_at(top, name, found, looked_at)
      end
    end
    vim.defer_fn(step, 1)
  end
  step()
end

return M
