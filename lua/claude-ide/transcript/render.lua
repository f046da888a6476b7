-- A message as items: headings, text, thinking, tool calls, rules. Pure: tables in, lines out.
-- A message brings the empty line before it along, not one after it: calls that follow each other stand close together.

local M = {}

---Rows that are for the model, not for people.
---@type table<string, boolean>
local HIDDEN = { meta = true }

---@param row claude-ide.sessions.Row
---@return boolean
function M.is_hidden(row)
  return HIDDEN[row.kind] == true
end

---How many rows before a message are looked at for the one that it follows: it may be without a heading of its own.
M.ROWS_BEFORE = 8

---The row that a message follows on the screen.
---@param known table<integer, claude-ide.sessions.Row> by number
---@param row integer
---@return claude-ide.sessions.Row?
function M.previous(known, row)
  for before = row - 1, math.max(row - M.ROWS_BEFORE, 0), -1 do
    if known[before] and not M.is_hidden(known[before]) then
      return known[before]
    end
  end
  return nil
end

---Whether a message is something that a user said: what `]]` goes to.
---@param kind claude-ide.sessions.RowKind
---@return boolean
function M.is_prompt(kind)
  return kind == "prompt" or kind == "command"
end

---@param kind string
---@param key string
---@return claude-ide.transcript.Item
local function new(kind, key)
  return require("claude-ide.transcript.item").new(kind, key)
end

---@param time? integer
---@return string
local function moment(time)
  if not time then
    return ""
  end
  local seconds = math.floor(time / 1000)
  local same_day = os.date("%Y-%m-%d", seconds) == os.date("%Y-%m-%d")
  return os.date(same_day and "%H:%M" or "%Y-%m-%d %H:%M", seconds) --[[@as string]]
end

---@param who string
---@param group string
---@param context claude-ide.transcript.RowContext
---@return claude-ide.transcript.Item
local function heading(who, group, context)
  local item, row = new("heading", "heading"), context.row
  local chunks = { { who, group } }
  if row.branch then
    local text = ("  branch %d of %d"):format(row.branch.number, #row.branch.siblings)
    chunks[2] = { text, "ClaudeTranscriptBranch" }
    item.targets[0] = { type = "branch" }
  end
  item:chunks(chunks)
  if group == "ClaudeTranscriptYou" then
    item.marks[#item.marks + 1] =
      { row = 0, col = 0, end_col = -1, group = "ClaudeTranscriptYouLine", eol = true }
  end
  local time = moment(row.start)
  if time ~= "" then
    item.marks[#item.marks + 1] =
      { row = 0, col = 0, end_col = 0, group = "", behind = { { " " .. time, "ClaudeTranscriptTime" } } }
  end
  return item
end

---@param text string
---@param context claude-ide.transcript.RowContext
---@return claude-ide.transcript.Item
local function rule(text, context)
  local item = new("heading", "rule")
  local time = moment(context.row.start)
  item:chunks({
    { ("── %s%s"):format(text, time ~= "" and " · " .. time or ""), "ClaudeTranscriptRule" },
  })
  item.marks[#item.marks + 1] =
    { row = 0, col = 0, end_col = 0, group = "", behind = { { ("─"):rep(300), "ClaudeTranscriptRule" } } }
  return item
end

---@param message claude-ide.sessions.Message
---@return string all of its text
local function text_of(message)
  local texts = {}
  for _, block in ipairs(message.blocks) do
    texts[#texts + 1] = block.type == "text" and block.text or nil
  end
  return table.concat(texts, "\n")
end

---What a user typed, out of what the CLI made of it.
---@param text string
---@return string
local function command_of(text)
  local name = text:match("<command%-name>(.-)</command%-name>")
  if name then
    local arguments = vim.trim(text:match("<command%-args>(.-)</command%-args>") or "")
    return vim.trim(("%s %s"):format(vim.trim(name), arguments))
  end
  local shell = text:match("<bash%-input>(.-)</bash%-input>")
  return shell and "! " .. vim.trim(shell) or vim.trim(text)
end

---@param message claude-ide.sessions.Message
---@return claude-ide.transcript.Item[]
local function output(message)
  local text = require("claude-ide.transcript.text")
  local shown = text_of(message):gsub("</?local%-command%-%a+>", ""):gsub("</?bash%-std%a+>", "")
  local lines = text.paragraphs(shown, true)
  if #lines == 0 then
    return {}
  elseif #lines > 10 then
    return {
      require("claude-ide.transcript.folded").item("note", "Output", 1, lines, "ClaudeTranscriptResult"),
    }
  end
  local item = new("note", "output")
  item:block(lines, 2, "ClaudeTranscriptResult")
  return { item }
end

---@type table<string, fun(message: claude-ide.sessions.Message, context: claude-ide.transcript.RowContext): claude-ide.transcript.Item[]>
local KINDS = {}

function KINDS.command(message, context)
  local command = command_of(text_of(message))
  if command:match("^/clear%f[%s%z]") or command == "/clear" then
    return { rule(command, context) }
  end
  local item = new("text", "command")
  item:block(require("claude-ide.transcript.text").paragraphs(command), 0, "ClaudeTranscriptCommand")
  return { heading("You", "ClaudeTranscriptYou", context), item }
end

KINDS.output = output

function KINDS.interrupted()
  local item = new("note", "interrupted")
  item:line("  Interrupted by you", "ClaudeTranscriptRejected", 2)
  return { item }
end

function KINDS.notice(message)
  local item = new("note", "notice")
  item:block(require("claude-ide.transcript.text").paragraphs(text_of(message)), 2, "ClaudeTranscriptNotice")
  return { item }
end

function KINDS.compaction(_, context)
  return { rule("Conversation compacted", context) }
end

function KINDS.summary(message)
  local lines = require("claude-ide.transcript.text").paragraphs(text_of(message))
  return {
    require("claude-ide.transcript.folded").item(
      "note",
      "Summary of what came before",
      1,
      lines,
      nil,
      "markdown"
    ),
  }
end

---@param message claude-ide.sessions.Message
---@param context claude-ide.transcript.RowContext
---@return claude-ide.transcript.Item[]
local function said(message, context)
  local items = {}
  local previous = context.previous
  if message.kind == "prompt" and context.of_agent then
    items[1] = heading("Claude asks", "ClaudeTranscriptClaude", context)
  elseif message.kind == "prompt" then
    items[1] = heading("You", "ClaudeTranscriptYou", context)
  elseif
    message.kind == "reply"
    and not context.row.continues
    and (not previous or previous.kind ~= "reply" or context.row.branch)
  then
    local who = context.of_agent and "Subagent" or context.speaker or "Claude"
    items[1] = heading(who, context.of_agent and "ClaudeTranscriptAgent" or "ClaudeTranscriptClaude", context)
  end
  local blocks = message.blocks
  for at, block in ipairs(blocks) do
    local item = require("claude-ide.transcript.blocks").item(block, at, context)
    if item then
      local last = items[#items]
      -- Text and what Claude does are apart; calls stand together.
      if last and last.kind ~= item.kind and last.kind ~= "heading" then
        last = new("gap", "gap:" .. at)
        last:line("")
        items[#items + 1] = last
      end
      items[#items + 1] = item
    end
  end
  return items
end

---Whether a message follows the one before it without an empty line.
---@param items claude-ide.transcript.Item[]
---@param context claude-ide.transcript.RowContext
---@return boolean
local function is_close(items, context)
  local previous = context.previous
  local first, row = items[1], context.row
  if not previous or row.continues then
    return true
  end
  local called = previous.kind == "reply" and previous.tools and #previous.tools > 0
  if row.kind == "reply" then
    return first.kind == "tool" and called == true
  end
  return row.kind == "output" and previous.kind == "command"
end

---@param message claude-ide.sessions.Message
---@param context claude-ide.transcript.RowContext
---@return claude-ide.transcript.Item[] none where there is nothing for people to see
function M.message(message, context)
  if M.is_hidden(context.row) then
    return {}
  end
  local items = (KINDS[message.kind] or said)(message, context)
  if #items > 0 and not is_close(items, context) then
    local gap = new("gap", "gap")
    gap:line("")
    table.insert(items, 1, gap)
  end
  return items
end

return M
