-- A tool call as an item: one line, and below it, folded, what it was given and what came of it. Edits are diffs. Pure.

local M = {}

local BODY = 4
---Diffs of so many lines stand open.
local OPEN_DIFF = 40

---@param line claude-ide.transcript.ToolLine
---@return claude-ide.transcript.Chunk[]
local function left_of(line)
  local chunks = { { "  " .. line.name, "ClaudeTranscriptTool" } }
  chunks[2] = {
    line.argument ~= "" and " " .. require("claude-ide.transcript.tool_line").fitted(line.argument) or "",
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

---@param item claude-ide.transcript.Item
---@param text string
---@param sign string
local function add_diff_line(item, text, sign)
  local row = item:line((" "):rep(BODY) .. sign .. require("claude-ide.transcript.text").line(text))
  local group = sign == "+" and "ClaudeTranscriptAdded" or sign == "-" and "ClaudeTranscriptRemoved"
  if group then
    item:mark(row, group, BODY)
    item.marks[#item.marks].eol = true
  end
end

---@param item claude-ide.transcript.Item
---@param text string
---@param sign string
local function add_signed(item, text, sign)
  local lines = vim.split((text:gsub("\n$", "")), "\n", { plain = true })
  for at, line in ipairs(lines) do
    if at > 1000 then
      item:line(("%s… %d more lines"):format((" "):rep(BODY), #lines - 1000), "ClaudeTranscriptDim", BODY)
      return
    end
    add_diff_line(item, line, sign)
  end
end

---@param item claude-ide.transcript.Item
---@param block claude-ide.sessions.Block
local function add_diff(item, block)
  local outcome = block.result and block.result.outcome
  local input = type(block.input) == "table" and block.input or {}
  local hunks = outcome and outcome.type == "file_change" and outcome.hunks or {}
  if #hunks > 0 then
    for _, hunk in ipairs(hunks) do
      local header = require("claude-ide.sessions.phrases").hunk_header(hunk)
      item:line((" "):rep(BODY) .. header, "ClaudeTranscriptHunk", BODY)
      for _, line in ipairs(hunk.lines) do
        add_diff_line(item, line:sub(2), line:sub(1, 1))
      end
    end
  elseif type(input.content) == "string" then
    add_signed(item, input.content, "+")
  else
    local edits = type(input.edits) == "table" and input.edits or { input }
    for _, edit in ipairs(edits) do
      if type(edit) == "table" then
        local before, after = edit.old_string, edit.new_string
        if type(before) == "string" and before ~= "" then
          add_signed(item, before, "-")
        end
        if type(after) == "string" and after ~= "" then
          add_signed(item, after, "+")
        end
      end
    end
  end
end

---@param item claude-ide.transcript.Item
---@param context claude-ide.transcript.Context
---@param at integer the block, from 1
---@param note? string
---@param indent integer
local function add_more(item, context, at, note, indent)
  if note then
    local row =
      item:line((" "):rep(indent) .. note .. " · Enter shows it all", "ClaudeTranscriptDim", indent)
    item.targets[row] = { type = "more", source = context.source, message = context.message, block = at }
  end
end
M.add_more = add_more

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
function M.add_result(item, result, context, at, language)
  local text = require("claude-ide.transcript.text")
  local group = result.is_error and "ClaudeTranscriptError" or "ClaudeTranscriptResult"
  for _, part in ipairs(result.content or {}) do
    if part.type == "text" then
      local shown = (part.text or ""):gsub("</?tool_use_error>", "")
      local lines = text.lines(shown, true)
      local left = item:block(lines, BODY, not language and group or nil, language)
      local note = text.cut_note(part) or (left > 0 and ("… %d more lines"):format(left)) or nil
      add_more(item, context, at, note, BODY)
    elseif part.type == "image" then
      item:line((" "):rep(BODY) .. M.image(part), "ClaudeTranscriptImage", BODY)
    else
      local kind = type(part.raw) == "table" and part.raw.type or "unknown"
      item:line(("%s[%s]"):format((" "):rep(BODY), tostring(kind)), "ClaudeTranscriptDim", BODY)
    end
  end
end

---@param item claude-ide.transcript.Item
---@param view claude-ide.transcript.AgentView
local function add_agent(item, view)
  local row = item:line(
    (" "):rep(BODY) .. require("claude-ide.transcript.agent_title").of(view),
    "ClaudeTranscriptAgent",
    BODY
  )
  item.targets[row] = { type = "agent", tool_id = view.tool_id, agent = view.agent, first = view.first }
  for _, nested in ipairs(view.open and view.items or {}) do
    item:adopt(nested, BODY)
  end
  if view.open then
    item:fold("agent", row, false, { { item.lines[row + 1], "ClaudeTranscriptAgent" } })
  end
end

---@param block claude-ide.sessions.Block a tool_use
---@param at integer which block of its message
---@param context claude-ide.transcript.Context
---@return claude-ide.transcript.Item
function M.item(block, at, context)
  local tool_line = require("claude-ide.transcript.tool_line")
  local agent = context.agents and context.agents[block.id] ---@type claude-ide.transcript.AgentView?
  local is_ended = context.ended or (agent ~= nil and agent.agent ~= nil and not agent.agent.running)
  local line = tool_line.of(block, context.cwd, is_ended, context.waited)
  local item = require("claude-ide.transcript.item").new("tool", "tool:" .. (block.id or at))
  item:chunks(whole(line))
  local closed = true
  local is_edit = tool_line.is_edit(block)
  if is_edit then
    item.edit = true
    add_diff(item, block)
    closed = #item.lines > OPEN_DIFF
    if block.result and block.result.is_error then
      M.add_result(item, block.result, context, at)
      closed = true
    end
    for row = 0, #item.lines - 1 do
      item.targets[row] = { type = "edit", tool_id = block.id, path = line.path, lnum = line.lnum }
    end
  else
    if agent then
      add_agent(item, agent)
      closed = not agent.open
    end
    local questions = require("claude-ide.transcript.question")
    local asked = questions.of(block)
    local is_said = asked ~= nil and questions.add(item, asked, BODY)
    if not asked and not (agent and agent.open) then
      require("claude-ide.transcript.tool_inputs").add(item, block, line)
    end
    -- That of one in the background says only that it began.
    local is_new = not is_said and not (agent and block.background)
    local result = is_new and block.result or nil
    if #item.lines > 1 and result and #(result.content or {}) > 0 then
      item:line("")
    end
    if result then
      M.add_result(item, result, context, at, agent and "markdown" or nil)
    end
    if agent then
      item.targets[0] =
        { type = "agent", call = true, tool_id = agent.tool_id, agent = agent.agent, first = agent.first }
    elseif line.path then
      item.targets[0] = { type = "file", path = line.path, lnum = line.lnum }
    end
  end
  item:fold("call", 0, closed, left_of(line), right_of(line))
  return item
end

return M
