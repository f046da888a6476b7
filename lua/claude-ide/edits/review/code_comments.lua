-- Finds the changes of a file that are of comments only, by tree-sitter: without their comments both texts have the same code there.
local lazy = require("claude-ide.lazy")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local hunks = lazy("claude-ide.edits.review.hunks")

local M = {}

---Size limit: the texts are parsed while the user waits.
local MAX_BYTES = 512 * 1024

---Rows of a text and their comments.
---@class claude-ide.review.Comments
---@field code string[] the lines, without comments and blanks at their ends; no empty ones
---@field has_comments boolean
---@field begins_within boolean a comment goes on from the line above
---@field ends_within boolean a comment goes on in the line below

---@alias claude-ide.review.Range [integer, integer, integer, integer] first row and column, and the end's

---Adds the comments that touch some rows.
---@param node TSNode
---@param first integer row
---@param last integer
---@param found claude-ide.review.Range[]
local function gather(node, first, last, found)
  local row, column, end_row, end_column = node:range()
  if end_row < first or row > last then
    return
  elseif node:named() and node:type():find("comment", 1, true) then
    found[#found + 1] = { row, column, end_row, end_column }
    return
  end
  for child in node:iter_children() do
    gather(child, first, last, found)
  end
end

---@param parser vim.treesitter.LanguageTree
---@param lines string[] of the text
---@param first integer row
---@param count integer
---@return claude-ide.review.Comments
local function look(parser, lines, first, count)
  local ranges, last = {}, first + count - 1 ---@type claude-ide.review.Range[], integer
  parser:for_each_tree(function(tree)
    gather(tree:root(), first - 1, math.max(last, first), ranges)
  end)
  local is_comment, code = {}, {} ---@type table<integer, table<integer, true>>, string[]
  local found = { code = code, has_comments = false, begins_within = false, ends_within = false }
  for _, range in ipairs(ranges) do
    local row, column, end_row, end_column = unpack(range)
    local last_row = end_column == 0 and end_row - 1 or end_row -- some grammars count the line break
    found.begins_within = found.begins_within or row < first and last_row >= first
    found.ends_within = found.ends_within or row <= last and last_row > last
    for at = math.max(row, first), math.min(last_row, last) do
      found.has_comments = true
      local line, columns = lines[at + 1] or "", is_comment[at] or {}
      is_comment[at] = columns
      for byte = at == row and column + 1 or 1, at == end_row and end_column or #line do
        columns[byte] = true
      end
    end
  end
  for at = first, last do
    local line, columns = lines[at + 1] or "", is_comment[at] or {}
    local bytes = {} ---@type string[]
    for byte = 1, #line do
      bytes[byte] = columns[byte] and "" or line:sub(byte, byte)
    end
    local kept = table.concat(bytes)
    kept = kept:gsub("%s+$", "")
    if kept ~= "" then
      code[#code + 1] = kept
    end
  end
  return found
end

---@param text string
---@param language string
---@return vim.treesitter.LanguageTree? nil: there is no such parser
local function parse(text, language)
  local ok, parser = pcall(vim.treesitter.get_string_parser, text, language)
  if ok and parser then
    parser:parse(true)
    return parser
  end
end

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split(text, "\r?\n")
end

---The changes of a file that are of comments only. Those that the user has changed too are not among them.
---@param change claude-ide.journal.Change
---@param filetype string
---@return claude-ide.journal.Hunk[]? found
---@return string? err
function M.find(change, filetype)
  if change.kind ~= "modified" or change.binary or not change.current then
    return {}
  end
  local old, new = buffer_bytes.text(change.without), buffer_bytes.text(change.current)
  if #old + #new > MAX_BYTES then
    return nil, "Comments are not recognized: the file is too large."
  end
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local old_parser, new_parser = parse(old, language), parse(new, language)
  if not old_parser or not new_parser then
    local what = filetype ~= "" and "of " .. filetype or "of this file"
    return nil, ("Comments are not recognized: no tree-sitter parser %s."):format(what)
  end
  local old_lines, new_lines = lines_of(old), lines_of(new)
  return vim.tbl_filter(function(hunk)
    if hunk.state ~= "claude" then
      return false
    end
    local before = look(old_parser, old_lines, hunk.before_start - 1, #hunk.before_lines)
    local after = look(new_parser, new_lines, hunk.current_start - 1, #hunk.after_lines)
    return (before.has_comments or after.has_comments)
      and vim.deep_equal(before.code, after.code)
      and before.begins_within == after.begins_within
      and before.ends_within == after.ends_within
  end, hunks.remaining(change))
end

return M
