-- getOpenEditors: the files that are open, as an editor with tabs would list them.
-- A buffer in the buffer list is a tab. The windows of the current tab page that show files are its groups.
local M = {}

---@class claude-ide.tool.GetOpenEditors.Tab
---@field uri string
---@field isActive boolean
---@field isPinned boolean
---@field isPreview boolean
---@field isDirty boolean
---@field label string
---@field groupIndex integer 0-based
---@field viewColumn integer 1-based
---@field isGroupActive boolean
---@field fileName string
---@field languageId string
---@field lineCount? integer not there while the file is listed but not read
---@field isUntitled boolean
---@field selection? claude-ide.selection.Range

---Whether Claude may know of a buffer that is open.
local function may_be_told(buf)
  return vim.bo[buf].buflisted and require("claude-ide.privacy").verdict(buf) == "tell"
end

---The buffers that getOpenEditors and its like list, in the order of the buffer list.
---@return integer[]
function M.buffers()
  return vim.tbl_filter(may_be_told, vim.api.nvim_list_bufs())
end

---The file that the user works on: that of the current window, or of the one before while they are in a terminal or the
---like.
---@return integer? buf
function M.active()
  for _, win in ipairs({ vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr("#")) }) do
    if win ~= 0 then
      local buf = vim.api.nvim_win_get_buf(win)
      if may_be_told(buf) then
        return buf
      end
    end
  end
  local latest = require("claude-ide.selection").latest()
  return latest and latest.filePath and require("claude-ide.buffer").find(latest.filePath) or nil
end

---@return integer[] wins of the current tab page that show files
local function groups()
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == "" and may_be_told(vim.api.nvim_win_get_buf(win))
  end, vim.api.nvim_tabpage_list_wins(0))
end

---@return { tabs: claude-ide.tool.GetOpenEditors.Tab[] }
local function read()
  local buffer, paths = require("claude-ide.buffer"), require("claude-ide.path")
  local active, wins, tabs = M.active(), groups(), {}
  local active_group = 1
  for index, win in ipairs(wins) do
    if vim.api.nvim_win_get_buf(win) == active then
      active_group = index
      if win == vim.api.nvim_get_current_win() then
        break
      end
    end
  end
  local latest = require("claude-ide.selection").latest()
  for _, buf in ipairs(M.buffers()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local group = active_group
    if buf ~= active then
      for index, win in ipairs(wins) do
        group = vim.api.nvim_win_get_buf(win) == buf and index or group
      end
    end
    tabs[#tabs + 1] = {
      uri = paths.to_uri(name),
      isActive = buf == active,
      isPinned = false,
      isPreview = vim.b[buf].claude_preview == true,
      isDirty = vim.bo[buf].modified,
      label = vim.fs.basename(name),
      groupIndex = group - 1,
      viewColumn = group,
      isGroupActive = group == active_group,
      fileName = name,
      languageId = buffer.language(buf),
      lineCount = vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_line_count(buf) or nil,
      isUntitled = false,
      selection = buf == active and latest and latest.filePath == name and latest.selection or nil,
    }
  end
  return { tabs = #tabs > 0 and tabs or require("claude-ide.json").EMPTY_ARRAY }
end

---@param _ table
---@param respond claude-ide.Respond
function M.run(_, respond)
  respond(read())
end

return M
