-- Display of `:Claude grep`'s quickfix list: a title per session, hits with their role, dimmed context lines, highlighted matches.
-- Changes of a list go through this module, since reading items back costs milliseconds per thousand.

local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.sessions.grep")

---Width of the role.
local ROLE_WIDTH = 9

---Defines highlight groups that the user and the colour scheme have not defined.
function M.define()
  highlights.link({
    ClaudeGrepTitle = "Title",
    ClaudeGrepRole = "Comment",
    ClaudeGrepContext = "Comment",
    ClaudeGrepMatch = "Search",
  })
end
M.define()

---@type { id: integer, first: integer, items: table[] }? items that are being added, after `first` existing ones
local change

---Adds items to a list, or sets other properties.
---@param id integer
---@param what table for setqflist()
function M.change(id, what)
  local size = vim.fn.getqflist({ id = id, size = 1 }).size
  change = { id = id, first = size, items = what.items or {} }
  vim.fn.setqflist({}, "a", vim.tbl_extend("force", what, { id = id }))
  change = nil
end

local function items_of(id, from, to)
  if change and change.id == id and from > change.first then
    return vim.list_slice(change.items, from - change.first, to - change.first)
  end
  return vim.list_slice(vim.fn.getqflist({ id = id, items = 1 }).items, from, to)
end

---@param item table of getqflist()
local function line_of(item)
  local data = type(item.user_data) == "table" and item.user_data or {}
  if data.claude == "title" then
    return item.text
  elseif data.claude == "context" then
    return (" "):rep(ROLE_WIDTH + 2) .. vim.trim(item.text)
  end
  local role = data.role or ""
  local blanks = math.max(ROLE_WIDTH - vim.fn.strdisplaywidth(role), 1)
  return (" %s%s %s"):format(role, (" "):rep(blanks), item.text)
end

---@param row integer from 0
local function paint_line(buf, row, line, item)
  local data = type(item.user_data) == "table" and item.user_data or {}
  local function mark(from, to, group)
    pcall(vim.api.nvim_buf_set_extmark, buf, namespace, row, from, { end_col = to, hl_group = group })
  end
  if data.claude == "title" then
    mark(0, #line, "ClaudeGrepTitle")
  elseif data.claude == "context" then
    mark(0, #line, "ClaudeGrepContext")
  else
    local text_at = #line - #item.text
    mark(0, text_at, "ClaudeGrepRole")
    local from, to = line:find(data.match or "", text_at + 1, true)
    if from and to >= from then
      mark(from - 1, to, "ClaudeGrepMatch")
    end
  end
end

---Value of 'quickfixtextfunc'.
---@param info { id: integer, start_idx: integer, end_idx: integer }
---@return string[]
function M.lines(info)
  local items = items_of(info.id, info.start_idx, info.end_idx)
  local lines = vim.tbl_map(line_of, items)
  local buf = vim.fn.getqflist({ qfbufnr = 1 }).qfbufnr
  -- The lines are in the buffer only after this function returns.
  vim.schedule(function()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    vim.api.nvim_buf_clear_namespace(buf, namespace, info.start_idx - 1, info.end_idx)
    for at, line in ipairs(lines) do
      paint_line(buf, info.start_idx + at - 2, line, items[at])
    end
  end)
  return lines
end

return M
