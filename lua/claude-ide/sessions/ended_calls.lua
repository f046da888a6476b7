-- Calls of tools that have ended, as a session's transcript tells.
local M = {}

---How many of the last rows are searched, and how much of a call's arguments is read.
local MAX_ROWS, MAX_TEXT = 200, 64 * 1024

---Reads the calls that ended since a moment.
---@param transcript claude-ide.sessions.Transcript
---@param since integer milliseconds since the epoch
---@param done fun(calls: claude-ide.sessions.Block[]) not called if there are none
function M.read(transcript, since, done)
  transcript:rows(math.max(transcript:info().len - MAX_ROWS, 0), MAX_ROWS, function(rows)
    local ids = {}
    for _, row in ipairs(rows or {}) do
      local has_one = vim.iter(row.tools or {}):any(function(tool)
        return (tool["end"] or 0) >= since
      end)
      ids[#ids + 1] = has_one and row.id or nil
    end
    if #ids == 0 then
      return
    end
    transcript:messages(ids, MAX_TEXT, function(messages)
      local calls = {}
      for _, message in ipairs(messages or {}) do
        for _, block in ipairs(message.blocks) do
          local is_over = block.type == "tool_use" and (block["end"] or 0) >= since
          calls[#calls + 1] = is_over and block or nil
        end
      end
      done(calls)
    end)
  end)
end

---Whether it is the call of a permission: one names the other only by its tool and arguments.
---@param call claude-ide.sessions.Block
---@param asked { tool: string, input: string, at: integer } arguments as JSON, and when it was asked for
---@return boolean
function M.is(call, asked)
  local ok, input = pcall(vim.json.decode, asked.input)
  return ok
    and call.name == asked.tool
    and (call["end"] or 0) >= asked.at
    and vim.deep_equal(input, call.input)
end

return M
