-- The user's open files, lists and folders, in the formats of each endpoint. Omits what is withheld.
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local editor = lazy("claude-ide.context.editor")
local paging = lazy("claude-ide.language.paging")
local paths = lazy("claude-ide.base.path")
local selection = lazy("claude-ide.context.selection")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@param answered fun(args: table): any
---@return claude-ide.Tool
local function at_once(answered)
  return {
    run = function(args, respond)
      respond(answered(args))
    end,
  }
end

-- For the CLI and other clients.

M.get_workspace_folders = at_once(function()
  local folders = workspace.folders()
  return { success = true, folders = folders, rootPath = folders[1] or vim.uv.cwd() }
end)

M.get_all_opened_file_paths = at_once(function()
  return { paths = vim.tbl_map(vim.api.nvim_buf_get_name, editor.buffers()) }
end)

---Whether an open file has unsaved changes.
M.check_document_dirty = at_once(function(args)
  local buf = buffer.find(args.filePath)
  if not buf or not buffer.is_file(buf) then
    return { success = false, message = "Document not open: " .. args.filePath }
  end
  return { success = true, filePath = args.filePath, isDirty = vim.bo[buf].modified, isUntitled = false }
end)

---A file as the plain methods describe it.
---@param active integer?
local function describe(buf, active)
  local path = vim.api.nvim_buf_get_name(buf)
  return {
    path = path,
    name = vim.fs.basename(path),
    isActive = buf == active,
    isDirty = vim.bo[buf].modified,
    languageId = buffer.language(buf),
  }
end

M.get_open_files = at_once(function()
  local active = editor.active()
  return vim.tbl_map(function(buf)
    return describe(buf, active)
  end, editor.buffers())
end)

M.get_current_file = at_once(function()
  local active = editor.active()
  return active and describe(active, active) or vim.NIL
end)

---@return integer[] wins of the current tab page that show files
local function groups()
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ""
      and editor.may_be_told(vim.api.nvim_win_get_buf(win))
  end, vim.api.nvim_tabpage_list_wins(0))
end

---Open files as an editor with tabs lists them: listed buffers are tabs, the current tab page's windows with files are groups.
---`lineCount` is missing for a file that is not loaded.
M.get_open_editors = at_once(function()
  local active, wins, tabs = editor.active(), groups(), {}
  local active_group = 1
  for index, win in ipairs(wins) do
    if vim.api.nvim_win_get_buf(win) == active then
      active_group = index
      if win == vim.api.nvim_get_current_win() then
        break
      end
    end
  end
  local latest = selection.latest()
  for _, buf in ipairs(editor.buffers()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local group = active_group
    for index, win in ipairs(buf ~= active and wins or {}) do
      group = vim.api.nvim_win_get_buf(win) == buf and index or group
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
  return { tabs = tabs }
end)

-- For agents.

M.open_buffers = tool(function(task, args)
  return paging.pages(task, editor.files(args.cursor))
end)

---The quickfix list, or the location list of the current window.
M.quickfix = tool(function(task, args)
  return paging.pages(task, editor.quickfix(args.list == "location", args.cursor))
end)

return M
