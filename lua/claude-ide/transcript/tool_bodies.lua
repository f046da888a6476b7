-- What is below the line of a tool call, and where it leads: one entry for each kind of call, the first that is meant. Pure.

local M = {}

local results = require("claude-ide.transcript.tool_result")

local BODY = 4
---Diffs of so many lines stand open.
local OPEN_DIFF = 40
---Edits of one call that are shown.
local MOST_EDITS = 200

---@class claude-ide.transcript.Call
---@field block claude-ide.sessions.Block a tool_use
---@field at integer which block of its message
---@field context claude-ide.transcript.Context
---@field line claude-ide.transcript.ToolLine
---@field agent? claude-ide.transcript.AgentView

---@class claude-ide.transcript.ToolBody
---@field is fun(call: claude-ide.transcript.Call): boolean
---@field add fun(item: claude-ide.transcript.Item, call: claude-ide.transcript.Call): boolean closed whether it is folded at first

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
---@param note? string what of a change is not shown
local function add_note(item, note)
  if note then
    item:line((" "):rep(BODY) .. note, "ClaudeTranscriptDim", BODY)
  end
end

---@param text string
---@return string[]
local function raw_lines(text)
  return text == "" and {} or vim.split((text:gsub("\n$", "")), "\n", { plain = true })
end

---@param item claude-ide.transcript.Item
---@param text any
---@param sign string
---@param room claude-ide.transcript.Room
local function add_signed(item, text, sign, room)
  if type(text) ~= "string" or text == "" then
    return
  end
  local lines, note = room:lines(text, raw_lines)
  for _, line in ipairs(lines) do
    add_diff_line(item, line, sign)
  end
  add_note(item, note)
end

---@param item claude-ide.transcript.Item
---@param change claude-ide.sessions.FileChange|claude-ide.sessions.Outcome
local function add_hunks(item, change)
  for _, hunk in ipairs(change.hunks or {}) do
    local header = require("claude-ide.sessions.phrases").hunk_header(hunk)
    item:line((" "):rep(BODY) .. header, "ClaudeTranscriptHunk", BODY)
    for _, line in ipairs(hunk.lines) do
      add_diff_line(item, line:sub(2), line:sub(1, 1))
    end
  end
  add_note(item, require("claude-ide.transcript.text").left_note(change.left_out or 0, 0))
end

---@param item claude-ide.transcript.Item
---@param block claude-ide.sessions.Block
local function add_diff(item, block)
  local outcome = block.result and block.result.outcome
  local input = type(block.input) == "table" and block.input or {}
  local room = require("claude-ide.transcript.room").new()
  if outcome and outcome.type == "file_change" and #(outcome.hunks or {}) > 0 then
    add_hunks(item, outcome)
  elseif type(input.content) == "string" then
    add_signed(item, input.content, "+", room)
  else
    local edits = type(input.edits) == "table" and input.edits or { input }
    for at, edit in ipairs(edits) do
      if at > MOST_EDITS then
        return add_note(item, ("… %d more edits"):format(#edits - MOST_EDITS))
      elseif type(edit) == "table" then
        add_signed(item, edit.old_string, "-", room)
        add_signed(item, edit.new_string, "+", room)
      end
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

---What came of it, with an empty line before it if anything else is there.
---@param item claude-ide.transcript.Item
---@param call claude-ide.transcript.Call
---@param language? string
local function add_result(item, call, language)
  local result = call.block.result
  if not result then
    return
  end
  if #item.lines > 1 and #(result.content or {}) > 0 then
    item:line("")
  end
  results.add(item, result, call.context, call.at, language)
end

---@param item claude-ide.transcript.Item
---@param line claude-ide.transcript.ToolLine
local function lead_to_file(item, line)
  if line.path then
    item.targets[0] = { type = "file", path = line.path, lnum = line.lnum }
  end
end

---The other files of a call that changed several, each with its name.
---@param item claude-ide.transcript.Item
---@param others claude-ide.sessions.FileChange[]
---@param cwd? string the session's
local function add_others(item, others, cwd)
  for _, change in ipairs(others) do
    local path = require("claude-ide.transcript.tool_line").shown_path(change.path, cwd)
    local name = require("claude-ide.transcript.text").line(path)
    local first = item:line((" "):rep(BODY) .. name, "ClaudeTranscriptNotice", BODY)
    add_hunks(item, change)
    local lnum = change.hunks[1] and change.hunks[1].new_start
    for row = first, #item.lines - 1 do
      item.targets[row] = { type = "file", path = change.path, lnum = lnum }
    end
  end
end

---Edits are diffs.
---@type claude-ide.transcript.ToolBody
local EDIT = {
  is = function(call)
    return require("claude-ide.transcript.tool_line").is_edit(call.block)
  end,
  add = function(item, call)
    local block, line = call.block, call.line
    item.edit = true
    add_diff(item, block)
    add_others(
      item,
      block.result and block.result.outcome and block.result.outcome.others or {},
      call.context.cwd
    )
    local closed = #item.lines > OPEN_DIFF
    if block.result and block.result.is_error then
      results.add(item, block.result, call.context, call.at)
      closed = true
    end
    for row = 0, #item.lines - 1 do
      item.targets[row] = item.targets[row]
        or { type = "edit", tool_id = block.id, path = line.path, lnum = line.lnum }
    end
    return closed
  end,
}

---@type claude-ide.transcript.ToolBody
local AGENT = {
  is = function(call)
    return call.agent ~= nil
  end,
  add = function(item, call)
    local agent = call.agent --[[@as claude-ide.transcript.AgentView]]
    add_agent(item, agent)
    if not agent.open then
      require("claude-ide.transcript.tool_inputs").add(item, call)
    end
    add_result(item, call, "markdown")
    item.targets[0] =
      { type = "agent", call = true, tool_id = agent.tool_id, agent = agent.agent, first = agent.first }
    return not agent.open
  end,
}

---@type claude-ide.transcript.ToolBody
local QUESTION = {
  is = function(call)
    return require("claude-ide.transcript.question").of(call.block) ~= nil
  end,
  add = function(item, call)
    local questions = require("claude-ide.transcript.question")
    local asked = questions.of(call.block) --[[@as claude-ide.transcript.Question[] ]]
    if not questions.add(item, asked, BODY) then
      add_result(item, call)
    end
    lead_to_file(item, call.line)
    return true
  end,
}

---@type claude-ide.transcript.ToolBody
local ANY = {
  is = function()
    return true
  end,
  add = function(item, call)
    require("claude-ide.transcript.tool_inputs").add(item, call)
    add_result(item, call)
    lead_to_file(item, call.line)
    return true
  end,
}

local KINDS = { EDIT, AGENT, QUESTION, ANY }

---@param item claude-ide.transcript.Item
---@param call claude-ide.transcript.Call
---@return boolean closed whether it is folded at first
function M.add(item, call)
  for _, kind in ipairs(KINDS) do
    if kind.is(call) then
      return kind.add(item, call)
    end
  end
  return true
end

return M
