-- How the quickfix list of `:Claude grep` looks: a title for each session, its hits with whose words they are, the lines
-- around them dimmed, the match itself marked.

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.sessions.grep")

---Cells for whose words a line is.
local ROLE_WIDTH = 9

vim.api.nvim_set_hl(0, "ClaudeGrepTitle", { link = "Title", default = true })
vim.api.nvim_set_hl(0, "ClaudeGrepRole", { link = "Comment", default = true })
vim.api.nvim_set_hl(0, "ClaudeGrepContext", { link = "Comment", default = true })
vim.api.nvim_set_hl(0, "ClaudeGrepMatch", { link = "Search", default = true })

---@param item table of getqflist()
---@return string
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

---@param buf integer
---@param row integer from 0
---@param line string
---@param item table
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
---@param info { quickfix: 0|1, winid: integer, id: integer, start_idx: integer, end_idx: integer }
---@return string[]
function M.lines(info)
  local what = { id = info.id, items = 1, qfbufnr = 1 }
  local list = info.quickfix == 1 and vim.fn.getqflist(what) or vim.fn.getloclist(info.winid, what)
  local lines = {}
  for at = info.start_idx, info.end_idx do
    lines[#lines + 1] = line_of(list.items[at])
  end
  -- The lines are put into the buffer after this returns.
  vim.schedule(function()
    if not vim.api.nvim_buf_is_valid(list.qfbufnr) then
      return
    end
    vim.api.nvim_buf_clear_namespace(list.qfbufnr, namespace, info.start_idx - 1, info.end_idx)
    for at, line in ipairs(lines) do
      paint_line(list.qfbufnr, info.start_idx + at - 2, line, list.items[info.start_idx + at - 1])
    end
  end)
  return lines
end

return M
