-- A message of a session as Markdown that any viewer shows: prompts and answers as they are, thinking and tool calls as
-- things to unfold, edits as diffs. Pure.

local M = {}

---@type table<claude-ide.sessions.RowKind, string>
local HEADINGS = {
  prompt = "You",
  reply = "Claude",
  command = "You",
  notice = "Claude Code",
  compaction = "Compacted",
  summary = "What came before, in short",
}

---A fence that nothing within closes.
---@param text string
---@return string
local function fence_for(text)
  local longest = 2
  for run in text:gmatch("`+") do
    longest = math.max(longest, #run)
  end
  return ("`"):rep(longest + 1)
end

---@param lines string[]
---@param text string
local function add_text(lines, text)
  vim.list_extend(lines, vim.split((text:gsub("\r\n?", "\n")), "\n", { plain = true }))
end

---@param lines string[]
---@param text string
---@param language? string
local function add_code(lines, text, language)
  local fence = fence_for(text)
  lines[#lines + 1] = fence .. (language or "")
  add_text(lines, (text:gsub("\n$", "")))
  lines[#lines + 1] = fence
end

---@param text { text?: string, bytes?: integer }
---@return string? a sentence if the text is not all there
local function cut_note(text)
  local missing = (text.bytes or 0) - #(text.text or "")
  return missing > 0 and ("*… and %s more*"):format(require("claude-ide.sessions.phrases").size(missing))
    or nil
end

---@param text string
---@return string for within HTML
local function escaped(text)
  return (text:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"))
end

---@param summary string
---@param body fun(lines: string[])
---@param lines string[]
local function unfold(summary, body, lines)
  vim.list_extend(lines, { "<details>", "<summary>" .. summary .. "</summary>", "" })
  body(lines)
  vim.list_extend(lines, { "", "</details>", "" })
end

---@param image { media_type?: string, encoded_bytes?: integer }
---@return string
local function image_note(image)
  local bytes = math.floor((image.encoded_bytes or 0) * 3 / 4)
  return ("*(image, %s, %s)*"):format(
    image.media_type or "unknown type",
    require("claude-ide.sessions.phrases").size(bytes)
  )
end

---@param hunks claude-ide.sessions.Hunk[]
---@return string
local function diff_of(hunks)
  local lines = {}
  for _, hunk in ipairs(hunks) do
    lines[#lines + 1] = require("claude-ide.sessions.phrases").hunk_header(hunk)
    vim.list_extend(lines, hunk.lines)
  end
  return table.concat(lines, "\n")
end

---@param lines string[]
---@param result claude-ide.sessions.ToolResult
local function add_result(lines, result)
  for _, part in ipairs(result.content or {}) do
    if part.type == "text" then
      add_code(lines, part.text or "")
      lines[#lines + 1] = cut_note(part)
    elseif part.type == "image" then
      lines[#lines + 1] = image_note(part)
    else
      add_code(lines, vim.json.encode(part.raw), "json")
    end
  end
end

---@param lines string[]
---@param block claude-ide.sessions.Block
local function add_input(lines, block)
  local input = block.input
  if type(input) ~= "table" or next(input) == nil then
    return
  end
  if block.name == "Bash" and type(input.command) == "string" then
    add_code(lines, input.command, "sh")
  elseif block.name == "Write" and type(input.content) == "string" then
    add_code(lines, input.content)
  else
    local names = vim.tbl_keys(input)
    table.sort(names, function(left, right)
      return tostring(left) < tostring(right)
    end)
    for _, name in ipairs(names) do
      local value = input[name]
      local text = type(value) == "string" and value or vim.json.encode(value)
      if text:find("\n", 1, true) or #text > 80 then
        lines[#lines + 1] = ("%s:"):format(name)
        lines[#lines + 1] = ""
        add_code(lines, text)
      else
        local ticks = text:find("`", 1, true) and "``" or "`"
        local blank = text:find("^`") and " " or text:find("`$") and " " or ""
        lines[#lines + 1] = ("- %s: %s%s%s%s%s"):format(name, ticks, blank, text, blank, ticks)
      end
    end
  end
  lines[#lines + 1] = ""
end

---@param lines string[]
---@param block claude-ide.sessions.Block
---@param cwd? string the session's
local function add_tool(lines, block, cwd)
  local result = block.result
  local outcome = result and result.outcome
  local tool_line = require("claude-ide.transcript.tool_line")
  local line = tool_line.of(block, cwd, true)
  local argument = escaped(tool_line.fitted(line.argument))
  local summary = ("<b>%s</b>%s"):format(
    escaped(line.name),
    argument ~= "" and (" <code>%s</code>"):format(argument) or ""
  )
  for _, fact in ipairs({ line.detail, line.status ~= "ok" and line.status or "" }) do
    summary = summary .. (fact ~= "" and " · " .. fact or "")
  end
  unfold(summary, function(into)
    local hunks = outcome and outcome.type == "file_change" and outcome.hunks or {}
    if #hunks > 0 then
      add_code(into, diff_of(hunks), "diff")
      return
    end
    add_input(into, block)
    if result then
      add_result(into, result)
    end
  end, lines)
end

---@param lines string[]
---@param block claude-ide.sessions.Block
---@param kind claude-ide.sessions.RowKind
---@param cwd? string
local function add_block(lines, block, kind, cwd)
  if block.type == "text" then
    if kind == "output" then
      add_code(lines, block.text or "")
    else
      add_text(lines, vim.trim(block.text or ""))
    end
    lines[#lines + 1] = cut_note(block)
    lines[#lines + 1] = ""
  elseif block.type == "thinking" then
    if vim.trim(block.text or "") ~= "" then
      unfold("Thinking", function(into)
        add_text(into, vim.trim(block.text or ""))
        into[#into + 1] = cut_note(block)
      end, lines)
    end
  elseif block.type == "tool_use" then
    add_tool(lines, block, cwd)
  elseif block.type == "tool_result" then
    unfold("<b>Result</b>", function(into)
      add_result(into, block.result or { is_error = false, content = {} })
    end, lines)
  elseif block.type == "image" then
    vim.list_extend(lines, { image_note(block), "" })
  end
end

---Whether a message is part of what people said and saw.
---@param kind claude-ide.sessions.RowKind
---@return boolean
function M.is_shown(kind)
  return kind ~= "meta" and kind ~= "other"
end

---The head of the document.
---@param summary claude-ide.sessions.Summary
---@param from? integer when the first message began
---@param to? integer when the last one ended: the file may have been touched since
---@return string[]
function M.head(summary, from, to)
  local function moment(time)
    return os.date("%Y-%m-%d %H:%M", math.floor(time / 1000))
  end
  local lines = { "# " .. require("claude-ide.sessions.phrases").title(summary), "" }
  local function fact(name, value)
    if value then
      lines[#lines + 1] = ("- %s: %s"):format(name, value)
    end
  end
  fact("Session", ("`%s`"):format(summary.id))
  fact("Folder", summary.cwd and ("`%s`"):format(summary.cwd))
  fact("Branch", summary.branch and ("`%s`"):format(summary.branch))
  fact("Model", summary.model)
  fact("From", from and ("%s to %s"):format(moment(from), moment(to or from)))
  lines[#lines + 1] = ""
  return lines
end

---A message, with an empty line at its end.
---@param message claude-ide.sessions.Message
---@param previous? claude-ide.sessions.Message the one before: a new heading stands only where someone else speaks
---@param cwd? string the session's
---@return string[]
function M.message(message, previous, cwd)
  local lines = {}
  local heading = HEADINGS[message.kind]
  local goes_on = previous and message.kind == "reply" and previous.kind == "reply"
  if heading and not goes_on then
    local time = message.start and os.date(" · %Y-%m-%d %H:%M", math.floor(message.start / 1000)) or ""
    vim.list_extend(lines, { ("## %s%s"):format(heading, time), "" })
  elseif message.kind == "interrupted" then
    return { "*Interrupted.*", "" }
  end
  local before = #lines
  for _, block in ipairs(message.blocks) do
    add_block(lines, block, message.kind, cwd)
  end
  return #lines > before and lines or {}
end

return M
