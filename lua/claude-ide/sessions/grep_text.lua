-- How the quickfix list of `:Claude grep` looks: a title for each session, its hits with whose words they are, the lines
-- around them dimmed, the match itself marked. What is changed in a list goes through here, so that its items need not be
-- asked for: that costs milliseconds for each thousand.

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.sessions.grep")

---Cells for whose words a line is.
local ROLE_WIDTH = 9

---Defines the highlight groups where the user or the colour scheme has not.
function M.define()
  require("claude-ide.ui.highlights").link({
    ClaudeGrepTitle = "Title",
    ClaudeGrepRole = "Comment",
    ClaudeGrepContext = "Comment",
    ClaudeGrepMatch = "Search",
  })
end
M.define()

---@type { id: integer, first: integer, items: table[] }? what is being put into a list from here, behind `first` items
local change

---Adds items to a list, or changes what else there is of it.
---@param id integer
---@param what table as setqflist() takes it
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

---'quickfixtextfunc'
---@param info { id: integer, start_idx: integer, end_idx: integer }
---@return string[]
function M.lines(info)
  local items = items_of(info.id, info.start_idx, info.end_idx)
  local lines = vim.tbl_map(line_of, items)
  local buf = vim.fn.getqflist({ qfbufnr = 1 }).qfbufnr
  -- The lines are put into the buffer after this returns.
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
