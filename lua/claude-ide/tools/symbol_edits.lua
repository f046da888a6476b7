-- Edits that are addressed by a symbol: what is to stand in its place, before it, after it, or nothing.
-- Ranges are in the columns of whoever drew the symbol.
local M = {}

---@param row integer 0-based
local function line_at(buf, row)
  return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
end

---Decorators and attributes belong to what follows them.
---@param row integer 0-based
---@return integer row of the first of them
local function with_decorators(buf, row)
  while
    row > 0
    and line_at(buf, row - 1):find("^%s*[@#]%[?%a")
    and not line_at(buf, row - 1):find("^%s*#%s*%l*%s")
  do
    row = row - 1
  end
  return row
end

---@return string text that ends its last line
local function whole_lines(text)
  return text:sub(-1) == "\n" and text or text .. "\n"
end

---@param definition claude-ide.language.Definition
---@param edit lsp.TextEdit
---@return claude-ide.changeset.ServerEdit
local function of_buffer(buf, definition, edit)
  return {
    edit = { changes = { [vim.uri_from_bufnr(buf)] = { edit } } },
    encoding = definition.encoding,
    breaks = "lf",
  }
end

---@return lsp.Range
local function at_line(line)
  return { start = { line = line, character = 0 }, ["end"] = { line = line, character = 0 } }
end

---Other text in place of the whole definition.
---@param buf integer
---@param definition claude-ide.language.Definition
---@param body string
---@return claude-ide.changeset.ServerEdit
function M.replace(buf, definition, body)
  local range = definition.range
  local first = line_at(buf, range.start.line)
  local col = require("claude-ide.language.encoding").byte(first, range.start.character, definition.encoding)
  local lead = first:sub(1, col)
  -- What stands before it in its line stays: an indentation is not written twice.
  if lead:find("^%s+$") and vim.startswith(body, lead) then
    body = body:sub(#lead + 1)
  end
  if range["end"].character > 0 or range["end"].line == range.start.line then
    body = body:gsub("\n+$", "")
  end
  return of_buffer(buf, definition, { range = range, newText = body })
end

---@param buf integer
---@param definition claude-ide.language.Definition
---@param text string
---@return claude-ide.changeset.ServerEdit
function M.before(buf, definition, text)
  local line = with_decorators(buf, definition.range.start.line)
  return of_buffer(buf, definition, { range = at_line(line), newText = whole_lines(text) })
end

---@param range lsp.Range
---@return integer row of its last line, 0-based
local function last_row(range)
  local last = range["end"]
  return last.character == 0 and last.line > range.start.line and last.line - 1 or last.line
end

---@param definition claude-ide.language.Definition
---@return integer character where the line ends, as columns of the definition count
local function length(buf, row, definition)
  local line = line_at(buf, row)
  return require("claude-ide.language.encoding").character(line, #line, definition.encoding)
end

---@param buf integer
---@param definition claude-ide.language.Definition
---@param text string
---@return claude-ide.changeset.ServerEdit
function M.after(buf, definition, text)
  local row = last_row(definition.range)
  local is_open_ended = row + 1 >= vim.api.nvim_buf_line_count(buf) and not vim.bo[buf].endofline
  if is_open_ended then
    -- The file does not end its last line, and goes on not to.
    local character = length(buf, row, definition)
    local range =
      { start = { line = row, character = character }, ["end"] = { line = row, character = character } }
    return of_buffer(buf, definition, { range = range, newText = "\n" .. text:gsub("\n$", "") })
  end
  return of_buffer(buf, definition, { range = at_line(row + 1), newText = whole_lines(text) })
end

---Nothing in place of the definition, and no gap where it was.
---@param buf integer
---@param definition claude-ide.language.Definition
---@return claude-ide.changeset.ServerEdit
function M.delete(buf, definition)
  local first, last = with_decorators(buf, definition.range.start.line), last_row(definition.range)
  local count = vim.api.nvim_buf_line_count(buf)
  local blank_before = first == 0 or line_at(buf, first - 1) == ""
  local after = last + 1
  while blank_before and after < count and line_at(buf, after) == "" do
    after = after + 1
  end
  local range = { start = { line = first, character = 0 }, ["end"] = { line = after, character = 0 } }
  if after >= count and not vim.bo[buf].endofline then
    range["end"] = { line = count - 1, character = length(buf, count - 1, definition) }
  end
  return of_buffer(buf, definition, { range = range, newText = "" })
end

return M
