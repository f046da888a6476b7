-- Messages of a chat in the shapes of a transcript: a row, and a message to be rendered.
local M = {}

---Results are shown up to here; the rest is behind a line that shows all of it.
local MAX_RESULT = 16 * 1024
local MAX_SHOWN = 8 * 1024 * 1024

---@param message claude-ide.chat.Message
---@return claude-ide.sessions.Row
function M.row(message)
  local block = message.block
  local tools ---@type claude-ide.sessions.ToolRow[]?
  if block.type == "tool_use" then
    local tool = {
      name = block.name,
      status = block.status,
      start = block.start,
      ["end"] = block["end"],
      background = block.background,
    }
    tools = {
      tool --[[@as claude-ide.sessions.ToolRow]],
    }
  end
  return {
    id = message.id,
    kind = message.kind,
    start = message.start,
    model = message.model,
    usage = message.usage,
    tools = tools,
    has_text = block.type == "text",
    has_thinking = block.type == "thinking",
    bytes = block.bytes or 1024,
    continues = message.continues ~= nil or nil,
  }
end

---@param text? string
---@param most integer
---@return string?
local function cut(text, most)
  if text and #text > most then
    return (require("claude-ide.position").valid(text:sub(1, most)):gsub("\239\191\189+$", ""))
  end
  return text
end

---@param block claude-ide.sessions.Block
---@param most integer
---@return claude-ide.sessions.Block
local function shown(block, most)
  local copy = vim.tbl_extend("force", {}, block)
  if copy.result then
    copy.result = vim.tbl_extend("force", {}, copy.result)
    copy.result.content = vim.tbl_map(function(part)
      local of_part = vim.tbl_extend("force", {}, part)
      of_part.text = cut(part.text, most)
      return of_part
    end, copy.result.content or {})
  end
  return copy --[[@as claude-ide.sessions.Block]]
end

---@param message claude-ide.chat.Message
---@param all boolean results too, however long
---@return claude-ide.sessions.Message
function M.message(message, all)
  local block = shown(message.block, all and MAX_SHOWN or MAX_RESULT)
  if message.parts then
    block.text, block.continues = require("claude-ide.chat.growing_text").text(message), message.continues
  end
  local blocks = { block }
  vim.list_extend(blocks, message.more or {})
  return {
    id = message.id,
    kind = message.kind,
    uuid = "",
    start = message.start,
    model = message.model,
    usage = message.usage,
    blocks = blocks,
  }
end

return M
