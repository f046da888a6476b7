-- The user's open files, lists and folders, in the formats of each endpoint. Omits what is withheld.
local M = {}

local tool = require("claude-ide.language.task").tool

local function or_empty(list)
  return #list > 0 and list or require("claude-ide.json").EMPTY_ARRAY
end

---@param answer fun(args: table): any
---@return claude-ide.Tool
local function at_once(answer)
  return {
    run = function(args, respond)
      respond(answer(args))
    end,
  }
end

---Whether a buffer is listed and not withheld.
local function may_be_told(buf)
  return vim.bo[buf].buflisted and require("claude-ide.privacy").verdict(buf) == "tell"
end

---Open files, in the order of the buffer list.
---@return integer[]
function M.buffers()
  return vim.tbl_filter(may_be_told, vim.api.nvim_list_bufs())
end

---The file that the user works on: the current window's, or the previous one's while they are in a terminal etc.
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

-- For the CLI and other clients.

M.get_workspace_folders = at_once(function()
  local folders = require("claude-ide.workspace").folders()
  return { success = true, folders = or_empty(folders), rootPath = folders[1] or vim.uv.cwd() }
end)

M.get_all_opened_file_paths = at_once(function()
  return { paths = or_empty(vim.tbl_map(vim.api.nvim_buf_get_name, M.buffers())) }
end)

---Whether an open file has unsaved changes.
M.check_document_dirty = at_once(function(args)
  local buffer = require("claude-ide.buffer")
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
    languageId = require("claude-ide.buffer").language(buf),
  }
end

M.get_open_files = at_once(function()
  local active = M.active()
  return or_empty(vim.tbl_map(function(buf)
    return describe(buf, active)
  end, M.buffers()))
end)

M.get_current_file = at_once(function()
  local active = M.active()
  return active and describe(active, active) or vim.NIL
end)

---@return integer[] wins of the current tab page that show files
local function groups()
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == "" and may_be_told(vim.api.nvim_win_get_buf(win))
  end, vim.api.nvim_tabpage_list_wins(0))
end

---Open files as an editor with tabs lists them: listed buffers are tabs, the current tab page's windows with files are groups.
---`lineCount` is missing for a file that is not loaded.
M.get_open_editors = at_once(function()
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
    for index, win in ipairs(buf ~= active and wins or {}) do
      group = vim.api.nvim_win_get_buf(win) == buf and index or group
    end
    tabs[#tabs + 1] = {
      uri = require("claude-ide.path").to_uri(name),
      isActive = buf == active,
      isPinned = false,
      isPreview = vim.b[buf].claude_preview == true,
      isDirty = vim.bo[buf].modified,
      label = vim.fs.basename(name),
      groupIndex = group - 1,
      viewColumn = group,
      isGroupActive = group == active_group,
      fileName = name,
      languageId = require("claude-ide.buffer").language(buf),
      lineCount = vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_line_count(buf) or nil,
      isUntitled = false,
      selection = buf == active and latest and latest.filePath == name and latest.selection or nil,
    }
  end
  return { tabs = or_empty(tabs) }
end)

-- For agents.

local function shown(buf)
  return require("claude-ide.language.locate").shown(vim.api.nvim_buf_get_name(buf))
end

---@return string? "1 error, 2 warnings"
local function problems(buf)
  local counts, words = vim.diagnostic.count(buf), {}
  for severity, word in ipairs({ "error", "warning" }) do
    local count = counts[severity]
    words[#words + 1] = count and require("claude-ide.language.answer").number(count, word)
  end
  return #words > 0 and table.concat(words, ", ") or nil
end

---@param active integer?
local function buffer_line(buf, active)
  local words, wins = {}, vim.fn.win_findbuf(buf) ---@type string[], integer[]
  if buf == active then
    local lnum = wins[1] and vim.api.nvim_win_get_cursor(wins[1])[1]
    words[#words + 1] = "the user is here" .. (lnum and (", in line %d"):format(lnum) or "")
  elseif #wins > 0 then
    words[#words + 1] = "visible"
  end
  words[#words + 1] = vim.bo[buf].modified and "unsaved changes" or nil
  if vim.api.nvim_buf_is_loaded(buf) then
    words[#words + 1] = ("%d lines"):format(vim.api.nvim_buf_line_count(buf))
    words[#words + 1] = vim.bo[buf].filetype ~= "" and vim.bo[buf].filetype or nil
    local names = require("claude-ide.language.servers").names(require("claude-ide.lsp").clients(buf))
    words[#words + 1] = names ~= "" and names or nil
    words[#words + 1] = problems(buf)
  else
    words[#words + 1] = "not read yet"
  end
  return require("claude-ide.position").valid(("%s  (%s)"):format(shown(buf), table.concat(words, "; ")))
end

M.open_buffers = tool(function(task, args)
  local bufs, active = M.buffers(), M.active()
  if #bufs == 0 then
    return { text = "The user has no file open." }
  end
  local answer = require("claude-ide.language.answer")
  return answer.pages(task, {
    head = answer.number(#bufs, "file") .. " open:",
    count = #bufs,
    entry = function(index)
      return { text = buffer_line(bufs[index], active) }
    end,
    cursor = args.cursor,
  })
end)

local KINDS = { E = "error: ", W = "warning: ", I = "info: ", N = "note: " }

---@param item table of getqflist()
---@return claude-ide.language.Entry?
local function quickfix_entry(item)
  local text = require("claude-ide.language.lines").brief((item.text or ""):gsub("%s*\n%s*", " "))
  if item.bufnr == 0 then
    return { text = "  " .. text }
  elseif require("claude-ide.privacy").verdict(item.bufnr) == "private" then
    return nil
  end
  local kind = KINDS[(item.type or ""):upper()] or ""
  return {
    group = require("claude-ide.position").valid(shown(item.bufnr)),
    text = ("  %d:%d  %s%s"):format(item.lnum, math.max(item.col, 1), kind, text),
  }
end

---The quickfix list, or the location list of the current window.
M.quickfix = tool(function(task, args)
  local what, is_location = { items = 0, title = 0, idx = 0 }, args.list == "location"
  local list = is_location and vim.fn.getloclist(0, what) or vim.fn.getqflist(what)
  local name, items = is_location and "location list" or "quickfix list", list.items or {}
  if #items == 0 then
    return { text = ("The %s is empty."):format(name) }
  end
  local answer = require("claude-ide.language.answer")
  local title = list.title ~= "" and (' "%s"'):format(require("claude-ide.language.lines").brief(list.title))
    or ""
  local count = answer.number(#items, "entry", "entries")
  return answer.pages(task, {
    head = ("%s in the %s%s; the user is at number %d:"):format(count, name, title, list.idx or 1),
    count = #items,
    entry = function(index)
      return quickfix_entry(items[index])
    end,
    cursor = args.cursor,
  })
end)

---MCP resources: the open files and their diagnostics.
M.resources = at_once(function()
  local resources = {}
  local function add(scheme, path, name, title, description)
    resources[#resources + 1] = {
      uri = scheme .. "://" .. path,
      name = name,
      title = title,
      description = description,
      mimeType = "text/plain",
    }
  end
  for _, buf in ipairs(M.buffers()) do
    local path = require("claude-ide.position").valid(shown(buf))
    local unsaved = vim.bo[buf].modified and ", with unsaved changes" or ""
    add("buffer", path, path, path, "Open in the editor" .. unsaved)
    if next(vim.diagnostic.count(buf)) then
      local description = "Errors and warnings of the editor's language servers"
      add("diagnostics", path, "diagnostics of " .. path, "What is wrong in " .. path, description)
    end
  end
  return or_empty(resources)
end)

---@type table<string, fun(task: claude-ide.language.Task, path: string): string>
local READERS = {
  buffer = function(task, path)
    local buf = require("claude-ide.language.locate").buffer(task, path)
    return require("claude-ide.position").valid(require("claude-ide.buffer").text(buf))
  end,
  diagnostics = function(task, path)
    return require("claude-ide.language.problems").text(task, { path = path }).text
  end,
}

M.read_resource = tool(function(task, args)
  local scheme, path = args.uri:match("^(%l+)://(.+)$")
  local read = READERS[scheme]
  if not read then
    task:fail(("there is no resource %s"):format(args.uri), "invalid_params")
  end
  path = require("claude-ide.language.locate").absolute(path)
  return { uri = args.uri, mimeType = "text/plain", text = read(task, path) }
end)

return M
