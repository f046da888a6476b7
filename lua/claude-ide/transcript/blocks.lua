-- What a message is made of, each kind of block as an item: one entry a kind. Pure.

local folded = require("claude-ide.transcript.folded")
local item_of = require("claude-ide.transcript.item").new
local results = require("claude-ide.transcript.tool_result")
local text = require("claude-ide.transcript.text")

---@alias claude-ide.transcript.BlockKind fun(block: claude-ide.sessions.Block, at: integer, context: claude-ide.transcript.RowContext): claude-ide.transcript.Item?

---@type table<string, claude-ide.transcript.BlockKind>
local KINDS = {}

---A text that the CLI or an editor wrapped for the model: "<ide_selection>…</ide_selection>".
---@param shown string
---@return string? tag
---@return string? inner
---@return string? called what a prompt named it, where it is of ours (context/init.lua): "#lines:a.lua:3-9"
local function wrapped(shown)
  local tag, attributes, inner = shown:match("^%s*<([%a][%w_-]*)([^>\n]*)>(.*)</[%w_-]+>%s*$")
  if not tag or not attributes or attributes ~= "" and not attributes:find("^%s") then
    return nil
  end
  local name, of = attributes:match('^ name="([^"]+)"'), attributes:match(' of="([^"]*)"$')
  return tag, inner, name and ("#%s%s"):format(name, of and ":" .. of or "")
end

function KINDS.text(block, at, context)
  local tag, inner, called = wrapped(block.text or "")
  local kind = context.row.kind
  if kind == "prompt" and tag and (tag:find("^ide_") or tag == "system-reminder") then
    local lines = text.paragraphs(inner or "")
    return folded.item("note", called or (tag:gsub("_", " ")), at, lines, "ClaudeTranscriptResult")
  end
  local shown = block.text or ""
  local goes_on = block.continues
  local lines = goes_on and text.lines(shown) or text.paragraphs(shown)
  if #lines == 0 then
    return nil
  end
  local item = item_of("text", "text:" .. at)
  local left = item:block(lines, 0, nil, kind == "prompt" and "prompt" or "markdown", context.max_lines)
  item.prose[1].fence = goes_on and goes_on.fence
  local note = text.cut_note(block) or text.left_note(left, 0)
  item:more(context, at, note, 0)
  if not note and kind == "reply" then
    item.open_end = require("claude-ide.transcript.open_end").of(shown, #lines)
  end
  return item
end

function KINDS.thinking(block, at, context)
  local lines = text.paragraphs(block.text or "")
  if #lines == 0 then
    return nil
  end
  local item = folded.item("thinking", "Thinking", at, lines, "ClaudeTranscriptThinking")
  item:more(context, at, text.cut_note(block), 4)
  if #item.lines > 1 and #item.folds > 0 then
    item.folds[#item.folds].last = #item.lines - 1
  end
  return item
end

KINDS.tool_use = require("claude-ide.transcript.tool").item

function KINDS.tool_result(block, at, context)
  local item = item_of("tool", "result:" .. at)
  local status = block.result and block.result.is_error and "failed" or "ok"
  item:line("  Result of a call that is not in this file · " .. status, "ClaudeTranscriptDim", 2)
  if block.result then
    results.add(item, block.result, context, at)
  end
  item:fold("result", 0, true, { { item.lines[1], "ClaudeTranscriptDim" } })
  return item
end

function KINDS.image(block, at)
  local item = item_of("note", "image:" .. at)
  item:line("  " .. results.image(block), "ClaudeTranscriptImage", 2)
  return item
end

local M = {}

---@param block claude-ide.sessions.Block
---@param at integer
local function unknown(block, at)
  local kind = type(block.raw) == "table" and block.raw.type or block.type
  local encoded = block.raw ~= nil and vim.json.encode(block.raw) or ""
  return folded.item("note", ("Unknown: %s"):format(kind), at, text.lines(encoded), "ClaudeTranscriptResult")
end

---@param block claude-ide.sessions.Block
---@param at integer which of its message, from 1
---@param context claude-ide.transcript.RowContext
---@return claude-ide.transcript.Item? nil: there is nothing to see
function M.item(block, at, context)
  return (KINDS[block.type] or unknown)(block, at, context)
end

return M
