-- An item that is folded: a line that says what it is, and its lines below. Pure.

local M = {}

---@param kind string
---@param summary string
---@param at integer
---@param lines string[]
---@param group? string
---@param language? string
---@return claude-ide.transcript.Item item folded
function M.item(kind, summary, at, lines, group, language)
  local item = require("claude-ide.transcript.item").new(kind, kind .. ":" .. at)
  item:line("  " .. summary, "ClaudeTranscriptDim", 2)
  local left = item:block(lines, 4, group, language)
  local note = require("claude-ide.transcript.text").left_note(left, 0)
  if note then
    item:line("    " .. note, "ClaudeTranscriptDim", 4)
  end
  local preview = lines[1] and " " .. require("claude-ide.transcript.text").one_line(lines[1]) or ""
  item:fold(
    kind,
    0,
    true,
    { { "  " .. summary, "ClaudeTranscriptDim" }, { preview, "ClaudeTranscriptPreview" } },
    { { ("%d line%s"):format(#lines, #lines == 1 and "" or "s"), "ClaudeTranscriptDim" } }
  )
  return item
end

return M
