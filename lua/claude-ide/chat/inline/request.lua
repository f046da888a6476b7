-- Builds the request for an edit: the file's text in the editor, the lines, their diagnostics and context, and the instruction.
local lazy = require("claude-ide.lazy")
local answer = lazy("claude-ide.chat.inline.answer")
local buffer = lazy("claude-ide.editor.buffer")
local context = lazy("claude-ide.context")
local context_lines = lazy("claude-ide.context.lines")
local problems = lazy("claude-ide.language.problems")

local M = {}

---Limits: bytes of the file around the lines, and of the lines.
local MOST_AROUND, MOST_REGION = 96 * 1024, 64 * 1024
local MOST_SYMBOLS = 150

---@class claude-ide.inline.Request
---@field buf integer
---@field first integer
---@field last integer
---@field what string instruction
---@field parts claude-ide.context.Part[]
---@field symbols? claude-ide.language.Symbol[]
---@field before? { lines: string[], words: string } rejected proposal and reason

---@param buf integer
---@param first integer
---@param last integer
---@return boolean
function M.is_too_large(buf, first, last)
  local count = vim.api.nvim_buf_line_count(buf)
  local from = vim.api.nvim_buf_get_offset(buf, math.min(first - 1, count))
  return vim.api.nvim_buf_get_offset(buf, math.min(last, count)) - from > MOST_REGION
end

---The lines around a region to send: equally many on both sides, within the limit.
---@param buf integer
---@param first integer
---@param last integer
---@return integer first
---@return integer last
local function around(buf, first, last)
  local offset = vim.api.nvim_buf_get_offset
  local count = vim.api.nvim_buf_line_count(buf)
  local size = offset(buf, last) - offset(buf, first - 1)
  local step = 1
  local from, to = first, last
  while step > 0 do
    local above, below = math.max(from - step, 1), math.min(to + step, count)
    if above == from and below == to then
      break
    end
    size = offset(buf, below) - offset(buf, above - 1)
    if size > MOST_AROUND then
      step = math.floor(step / 2)
    else
      from, to, step = above, below, math.min(step * 2, 4096)
    end
  end
  return from, to
end

---@param symbols claude-ide.language.Symbol[]
---@return string
local function outline(symbols)
  local lines = {}
  for i, symbol in ipairs(symbols) do
    if i > MOST_SYMBOLS then
      lines[#lines + 1] = ("(%d more)"):format(#symbols - MOST_SYMBOLS)
      break
    end
    lines[#lines + 1] = ("%s%s %s, lines %d-%d"):format(
      ("  "):rep(symbol.depth),
      symbol.kind,
      (symbol.name:gsub("%c", " ")),
      symbol.first,
      symbol.last
    )
  end
  return table.concat(lines, "\n")
end

---@param request claude-ide.inline.Request
---@return table[] blocks
function M.blocks(request)
  local buf, first, last = request.buf, request.first, request.last
  local region = table.concat(vim.api.nvim_buf_get_lines(buf, first - 1, last, false), "\n")
  local from, to = around(buf, first, last)
  local texts = {
    ("Rewrite lines %d-%d of a file that a user edits. Their text is in the editor and may differ from what is on the "):format(
      first,
      last
    )
      .. "disk: what stands here counts. You cannot write; your answer is shown to the user as a proposal.",
    ("<file language=%q>\n%s\n</file>"):format(
      buffer.language(buf),
      context_lines.of(buf, from, to, MOST_AROUND + 32 * 1024)
    ),
  }
  local function add(name, text)
    if text ~= "" then
      texts[#texts + 1] = ("<%s>\n%s\n</%s>"):format(name, text, name)
    end
  end
  add("diagnostics", table.concat(problems.within(buf, first, last), "\n"))
  add("symbols", outline(request.symbols or {}))
  add("region", region)
  if request.before then
    add("rejected_proposal", table.concat(request.before.lines, "\n"))
    add("why_it_was_rejected", request.before.words)
  end
  add("wanted", request.what)
  texts[#texts + 1] = ("Answer with the new text of the region, whole and nothing but it: between %s and %s, each on a line of "):format(
    answer.FIRST,
    answer.LAST
  ) .. "its own, without line numbers, with the indentation that it has to have in the file."
  local blocks = context.blocks(table.concat(texts, "\n\n"), request.parts)
  return blocks
end

return M
