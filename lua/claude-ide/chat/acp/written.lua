-- Which files an agent changed, and which of that the user has seen. One that writes by itself may say so only by the places of
-- its call: then the disk says whether it did.
-- Invariant: a review excuses the bytes that it was about, once. What was written since was not reviewed.
local M = {}

---The clock by which the kernel stamps files is behind by a tick at most.
local TICK_S = 0.02

---@class claude-ide.chat.acp.Written
---@field times integer that it was written after a review, and no call has told of it yet
---@field stamp? string as the last of these writes left it

---@param path string
---@return string? nil: there is no such file
function M.stamp_of(path)
  local stat = vim.uv.fs_stat(path)
  return stat and ("%d %d %d %d"):format(stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec) or nil
end

---@param path string
---@return string
local function normal(path)
  return require("claude-ide.path").normalize(path)
end

---A turn begins, or did so a while ago where Neovim was busy: then the agent may have written meanwhile.
---@param chat claude-ide.chat.Chat
---@param at integer milliseconds since the epoch
function M.turn_begins(chat, at)
  chat.acp.turn_began = at / 1000
  chat.acp.absent = {}
end

---A change of a file was refused: where there was none, there is to be none.
---@param chat claude-ide.chat.Chat
---@param path string
function M.refused(chat, path)
  chat.acp.absent[normal(path)] = M.stamp_of(path) == nil or nil
end

---A file was written after a review.
---@param chat claude-ide.chat.Chat
---@param path string
function M.reviewed(chat, path)
  path = normal(path)
  local written = chat.acp.written[path] or { times = 0 }
  written.times, written.stamp = written.times + 1, M.stamp_of(path)
  chat.acp.written[path] = written
end

---Whether a change is the one that was written after a review.
---@param acp claude-ide.chat.acp.State
---@param path string
---@return boolean
local function was_reviewed(acp, path)
  local written = acp.written[path]
  if not written or written.times == 0 then
    return false
  end
  written.times = written.times - 1
  return written.stamp == M.stamp_of(path)
end

---Whether a file has changed since the turn began. A move leaves the time of the last write as it was, so it is that of the node.
---@param acp claude-ide.chat.acp.State
---@param path string
---@param has_failed boolean
---@return boolean
local function was_touched(acp, path, has_failed)
  local stat = vim.uv.fs_stat(path)
  if not stat then
    return not has_failed and not acp.absent[path] -- deleted, or moved
  elseif stat.type == "directory" then
    return false
  end
  return stat.ctime.sec + stat.ctime.nsec / 1e9 + TICK_S >= acp.turn_began
end

---A call ended. One whose change was reviewed counts as granted.
---@param chat claude-ide.chat.Chat
---@param call string
---@param result claude-ide.sessions.ToolResult
---@param places string[] that it may have changed
---@return string[] paths that it changed without being asked for, beside that of its outcome
function M.judge(chat, call, result, places)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local outcome, is_granted = result.outcome, chat.unasked or chat.granted[call]
  local claimed = outcome and outcome.path and not result.is_error and normal(outcome.path) or nil
  -- Gemini says no more of what the user refused: it is over with the turn, and looks like a change that was made.
  local refused = chat.refused[call] ~= nil
  local paths, unasked = {}, {} ---@type table<string, true>, string[]
  for _, path in ipairs(vim.list_extend({ claimed }, places)) do
    if path:sub(1, 1) == "/" and not path:find("\0", 1, true) then
      paths[normal(path)] = true
    end
  end
  for path in pairs(paths) do
    if was_reviewed(acp, path) then
      is_granted = is_granted or path == claimed
    elseif not is_granted and (path ~= claimed or refused) and was_touched(acp, path, result.is_error) then
      unasked[#unasked + 1] = path
    end
  end
  chat.granted[call] = is_granted or nil
  table.sort(unasked)
  return unasked
end

return M
