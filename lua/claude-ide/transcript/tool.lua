-- A tool call as an item: one line, and below it, folded, what it was given and what came of it. Pure.

local M = {}

---@param line claude-ide.transcript.ToolLine
---@return claude-ide.transcript.Chunk[]
local function left_of(line)
  local chunks = { { "  " .. line.name, "ClaudeTranscriptTool" } }
  local argument = require("claude-ide.unseen").characters(line.argument)
  chunks[2] = {
    argument ~= "" and " " .. require("claude-ide.transcript.tool_line").fitted(argument) or "",
    "ClaudeTranscriptArgument",
  }
  local added, removed, rest = line.detail:match("^(%+%d+) (−%d+)(.*)$")
  if added then
    vim.list_extend(chunks, {
      { " " .. added, "ClaudeTranscriptAddedCount" },
      { " " .. removed, "ClaudeTranscriptRemovedCount" },
      { rest, "ClaudeTranscriptDim" },
    })
  elseif line.detail ~= "" then
    chunks[3] = { "  " .. line.detail, "ClaudeTranscriptDim" }
  end
  return chunks
end

---@param line claude-ide.transcript.ToolLine
---@return claude-ide.transcript.Chunk[]
local function right_of(line)
  local chunks = { { line.status, line.group } }
  if line.duration ~= "" then
    chunks[2] = { (" %7s"):format(line.duration), "ClaudeTranscriptDim" }
  else
    chunks[2] = { (" "):rep(8), "" }
  end
  if line.asked ~= "" then
    table.insert(chunks, 1, { ("(%s) "):format(line.asked), "ClaudeTranscriptDim" })
  end
  return chunks
end

---@param line claude-ide.transcript.ToolLine
---@return claude-ide.transcript.Chunk[]
local function whole(line)
  local chunks =
    vim.list_extend(left_of(line), { { " · ", "ClaudeTranscriptDim" }, { line.status, line.group } })
  if line.duration ~= "" then
    local asked = line.asked ~= "" and (" (%s)"):format(line.asked) or ""
    chunks[#chunks + 1] = { " · " .. line.duration .. asked, "ClaudeTranscriptDim" }
  end
  return chunks
end

---@param block claude-ide.sessions.Block a tool_use
---@param at integer which block of its message
---@param context claude-ide.transcript.Context
---@return claude-ide.transcript.Item
function M.item(block, at, context)
  local agent = context.agents and context.agents[block.id] ---@type claude-ide.transcript.AgentView?
  local is_ended = context.ended or (agent ~= nil and agent.agent ~= nil and not agent.agent.running)
  local line = require("claude-ide.transcript.tool_line").of(block, context.cwd, is_ended, context.waited)
  local item = require("claude-ide.transcript.item").new("tool", "tool:" .. (block.id or at))
  item:chunks(whole(line))
  local closed = require("claude-ide.transcript.tool_bodies").add(item, {
    block = block,
    at = at,
    context = context,
    line = line,
    agent = agent,
  })
  item:fold("call", 0, closed, left_of(line), right_of(line))
  return item
end

return M
