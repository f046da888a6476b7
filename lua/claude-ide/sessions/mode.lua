-- Permission mode of a session, from its transcript: the CLI records it with each prompt and each change of mode (2.1.329).
-- Undocumented, so it may be unknown.
local M = {}

---Bytes to search at the end of a transcript.
local TAIL_BYTES = 512 * 1024

---@alias claude-ide.sessions.Mode "default"|"plan"|"acceptEdits"|"bypassPermissions"|"dontAsk"|"auto"

local function mode_in(line)
  if not line:find('"permissionMode"', 1, true) then
    return nil
  end
  -- Output of tools may contain the word: only the record's own field counts.
  local ok, record = pcall(vim.json.decode, line)
  local mode = ok and type(record) == "table" and record.permissionMode
  return type(mode) == "string" and mode or nil
end

---The last mode in a transcript's tail.
---@param tail string
---@return claude-ide.sessions.Mode?
function M.of_lines(tail)
  local mode ---@type string?
  local last = #tail
  while last > 0 and not mode do
    local first = last
    while first > 1 and tail:byte(first - 1) ~= 10 do
      first = first - 1
    end
    mode = mode_in(tail:sub(first, last))
    last = first - 2
  end
  return mode --[[@as claude-ide.sessions.Mode?]]
end

---@param done fun(tail: string?) on the main loop, once
local function read_tail(path, done)
  done = vim.schedule_wrap(done)
  vim.uv.fs_open(path, "r", 0, function(_, fd)
    if not fd then
      return done(nil)
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      local from = stat and math.max(stat.size - TAIL_BYTES, 0) or 0
      vim.uv.fs_read(fd, TAIL_BYTES, from, function(_, bytes)
        vim.uv.fs_close(fd, function() end)
        done(bytes)
      end)
    end)
  end)
end

---The mode of a session.
---@param id string
---@param done fun(mode: claude-ide.sessions.Mode?) on the main loop, once; nil: unknown
function M.of_session(id, done)
  require("claude-ide.sessions").find(id, function(file)
    if not file then
      return done(nil)
    end
    read_tail(file, function(tail)
      done(tail and M.of_lines(tail))
    end)
  end)
end

---The mode of a client's session.
---@param client integer
---@param done fun(mode: claude-ide.sessions.Mode?) on the main loop, once; nil: unknown
function M.of_client(client, done)
  local session = require("claude-ide.sessions").of_client(client)
  if not session then
    return done(nil)
  end
  M.of_session(session.id, done)
end

return M
