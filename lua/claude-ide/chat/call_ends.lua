-- How the calls of a chat end: by a result; where the result says only that something goes on in the background, when that ends; or
-- nobody tells it any more.
-- Each function tells in which rows something changed. Pure.
local M = {}

---@alias claude-ide.chat.Calls table<string, claude-ide.chat.Message> by call

---@param calls claude-ide.chat.Calls
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param refused table<string, "rejected"|"changed"> what the user made of calls that were not let through as they were
---@param now integer milliseconds
---@return integer[] changed
function M.results(calls, results, refused, now)
  local changed = {}
  for _, pair in ipairs(results) do
    local call, result = pair[1], pair[2]
    local message = calls[call]
    if message then
      local block = message.block
      block.result = result
      block.background = result.outcome and result.outcome.type == "launch" and not result.is_error or nil
      if not block.background then
        block.status = refused[call] or result.is_error and "failed" or "done"
        block["end"] = now
      end
      changed[#changed + 1] = message.id - 1
    end
  end
  return changed
end

---It may be told twice, and again where it was woken and ended once more.
---@param calls claude-ide.chat.Calls
---@param call string
---@param is_done boolean
---@param now integer milliseconds
---@return integer[] changed
function M.background_over(calls, call, is_done, now)
  local message = calls[call]
  local block = message and message.block
  local status = is_done and "done" or "failed"
  if not block or not block.background or block.status == status then
    return {}
  end
  block.status, block["end"] = status, now
  return { message.id - 1 }
end

---Who would tell it is gone.
---@param calls claude-ide.chat.Calls
---@return integer[] changed
function M.none_is_told(calls)
  local changed = {}
  for _, message in pairs(calls) do
    if message.block.status == "running" then
      message.block.status = "void"
      changed[#changed + 1] = message.id - 1
    end
  end
  return changed
end

return M
