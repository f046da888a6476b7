-- Which of the calls that ended are those that the user was asked about: a permission names its call only by the tool and the arguments.
local M = {}

---How much of a call's arguments is read.
local MAX_TEXT = 64 * 1024

---@class claude-ide.sessions.AskedCall a call that the user is or was asked about
---@field tool string
---@field input string its arguments, as JSON
---@field at integer when it was asked for, in Unix milliseconds

---@param call claude-ide.sessions.EndedCall|claude-ide.sessions.Block
---@param asked claude-ide.sessions.AskedCall
---@return boolean
local function may_be(call, asked)
  return call.name == asked.tool and (call["end"] or 0) >= asked.at
end

---Whether it is the call of a permission.
---@param call claude-ide.sessions.Block
---@param asked claude-ide.sessions.AskedCall
---@return boolean
function M.is(call, asked)
  local ok, input = pcall(vim.json.decode, asked.input)
  return ok and may_be(call, asked) and vim.deep_equal(input, call.input)
end

---Reads those of the ended calls that may be among the asked ones.
---@param reading claude-ide.sessions.Reading
---@param calls claude-ide.sessions.EndedCall[]
---@param asked claude-ide.sessions.AskedCall[]
---@param each fun(call: claude-ide.sessions.Block)
function M.read(reading, calls, asked, each)
  local messages, ends = {}, {} ---@type integer[], table<string, integer>
  for _, call in ipairs(calls) do
    local is_one = vim.iter(asked):any(function(one)
      return may_be(call, one)
    end)
    if is_one then
      ends[call.id] = call["end"]
      messages[#messages + 1] = messages[#messages] ~= call.message and call.message or nil
    end
  end
  if not messages[1] then
    return
  end
  reading.transcript:messages(messages, MAX_TEXT, function(found)
    for _, message in ipairs(found or {}) do
      for _, block in ipairs(message.blocks) do
        if block.type == "tool_use" and ends[block.id] then
          block["end"], ends[block.id] = ends[block.id], nil
          each(block)
        end
      end
    end
  end)
end

return M
