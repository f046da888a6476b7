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

---Looking at files goes in steps of so long, so that the person's keys get their turn.
local STEP_NS = 4 * 1000 * 1000

---@class claude-ide.journal.Candidates
---@field names string[] to be copied, or to be noted as gone; as git names them
---@field bytes integer
---@field skipped table<string, string> what else differs, by name: equal strings for equal contents

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

---@param top string
---@param name string
---@param found claude-ide.journal.Candidates
local function look_at(top, name, found)
  local path = top .. "/" .. name
  local stat = vim.uv.fs_lstat(path)
  if stat and stat.type ~= "file" and stat.type ~= "link" then
    return -- another repository, or no file at all
  elseif require("claude-ide.privacy").denied_by(path) or (stat and not has_room(path, stat, found)) then
    found.skipped[name] = stat and require("claude-ide.buffer.stamp").key(stat) or ""
  else
    found.names[#found.names + 1] = name
    found.bytes = found.bytes + (stat and stat.size or 0)
  end
end

---@param top string of the work tree
---@param listed string of `ls-files -z`, what comes first is more important
---@param done fun(found: claude-ide.journal.Candidates) on the main loop
function M.choose(top, listed, done)
  local found = { names = {}, bytes = 0, skipped = {} }
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
        look_at(top, name, found)
      end
    end
    vim.defer_fn(step, 1)
  end
  step()
end

return M
