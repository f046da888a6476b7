-- What came of a tool call, as lines of an item. Pure.

local M = {}

local BODY = 4

---@param image { media_type?: string, encoded_bytes?: integer }
---@return string
function M.image(image)
  local bytes = math.floor((image.encoded_bytes or 0) * 3 / 4)
  local size = require("claude-ide.sessions.phrases").size(bytes)
  return ("[image, %s, %s]"):format((image.media_type or "unknown type"):gsub("^image/", ""), size)
end

---@param item claude-ide.transcript.Item
---@param result claude-ide.sessions.ToolResult
---@param context claude-ide.transcript.Context
---@param at integer
---@param language? string
function M.add(item, result, context, at, language)
  local text = require("claude-ide.transcript.text")
  local group = result.is_error and "ClaudeTranscriptError" or "ClaudeTranscriptResult"
  for _, part in ipairs(result.content or {}) do
    if part.type == "text" then
      local shown = (part.text or ""):gsub("</?tool_use_error>", "")
      local lines = text.lines(shown, true)
      local left = item:block(lines, BODY, not language and group or nil, language)
      local note = text.cut_note(part) or text.left_note(left, 0)
      item:more(context, at, note, BODY)
    elseif part.type == "image" then
      item:line((" "):rep(BODY) .. M.image(part), "ClaudeTranscriptImage", BODY)
    else
      local kind = type(part.raw) == "table" and part.raw.type or "unknown"
      item:line(("%s[%s]"):format((" "):rep(BODY), tostring(kind)), "ClaudeTranscriptDim", BODY)
    end
  end
end

return M
