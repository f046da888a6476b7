-- Finds calls in a CLI's transcript that should have written a file and failed: its tools check the file again, and fail if it has changed
-- since it was read. No message reports that; the transcript does, a moment later.
local lazy = require("claude-ide.lazy")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local native = lazy("claude-ide.library.native")
local paths = lazy("claude-ide.base.path")

local M = {}

---Only the last rows of a transcript are read: a recent call is among them.
local MAX_ROWS = 64

---Limit for the text of a tool's result.
local MAX_TEXT = 600

---@param call { name: string, status?: string } of a row, or of a message
---@return boolean whether it writes a file, and did not
local function is_failure(call)
  local has_failed = call.status == "failed" or call.status == "rejected"
  return has_failed and vim.list_contains(native.writing_tools() or {}, call.name)
end

---@param rows claude-ide.sessions.Row[]
---@param since integer
---@return integer[] messages with calls that failed since
local function with_failures(rows, since)
  local ids = {}
  for _, row in ipairs(rows) do
    local has_one = vim.iter(row.tools or {}):any(function(tool)
      return is_failure(tool) and (tool["end"] or 0) >= since
    end)
    ids[#ids + 1] = has_one and row.id or nil
  end
  return ids
end

---Looks for failed calls if writes of the client are expected.
---@param client integer
---@param transcript claude-ide.sessions.Transcript of the client's session or of a subagent
---@param seen table<string, true> calls already reported
---@param done fun() not called if the transcript is closed meanwhile
function M.look(client, transcript, seen, done)
  local since = expected_write.unreported_since(client)
  if not since then
    return done()
  end
  transcript:rows(math.max(transcript:info().len - MAX_ROWS, 0), MAX_ROWS, function(rows)
    local ids = with_failures(rows or {}, since)
    if #ids == 0 then
      return done()
    end
    transcript:messages(ids, MAX_TEXT, function(messages)
      for _, message in ipairs(messages or {}) do
        for _, block in ipairs(message.blocks) do
          if block.type == "tool_use" and is_failure(block) and not seen[block.id] then
            seen[block.id] = true
            local path = type(block.input) == "table" and block.input.file_path
            if type(path) == "string" and path:sub(1, 1) == "/" then
              expected_write.failed(client, paths.normalize(path), block)
            end
          end
        end
      end
      done()
    end)
  end)
end

return M
