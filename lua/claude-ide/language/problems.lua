-- Diagnostics as text: of a file, or of all files known to the editor.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local diagnostics = lazy("claude-ide.language.diagnostics")
local fresh = lazy("claude-ide.language.diagnostics.fresh")
local language_lines = lazy("claude-ide.language.lines")
local locate = lazy("claude-ide.language.locate")
local lsp = lazy("claude-ide.base.lsp")
local paging = lazy("claude-ide.language.paging")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local SEVERITIES = { error = 1, warning = 2, info = 3, hint = 4 }
---@type table<integer, string>
local WORDS = { "error", "warning", "info", "hint" }

---Timeout for servers to report on a file that was just changed.
local WAIT_MS = 10000

---A diagnostic of a file, without quotes from withheld files.
---@param diagnostic vim.Diagnostic
---@return string
function M.line_of(diagnostic)
  local code = diagnostic.code ~= nil and tostring(diagnostic.code) or nil
  local from = diagnostic.source and (code and ("%s %s"):format(diagnostic.source, code) or diagnostic.source)
    or code
  local whole = diagnostics.message(diagnostic):gsub("%s*\n%s*", " ")
  local message = language_lines.brief(whole)
  return ("  %d:%d  %s: %s%s"):format(
    diagnostic.lnum + 1,
    diagnostic.col + 1,
    WORDS[diagnostic.severity or 1] or "error",
    message,
    from and (" [%s]"):format(position.valid(from)) or ""
  )
end

---@param list vim.Diagnostic[]
---@return string "2 errors, 1 warning"
local function counts(list)
  local words = {}
  for severity, word in ipairs(WORDS) do
    local count = #vim.tbl_filter(function(diagnostic)
      return (diagnostic.severity or 1) == severity
    end, list)
    if count > 0 then
      words[#words + 1] = counted(count, word)
    end
  end
  return table.concat(words, ", ")
end

---Diagnostics of these buffers with at least a severity, by file, the worst first.
---@return vim.Diagnostic[]
local function collect(bufs, least)
  local all = {}
  for _, buf in ipairs(bufs) do
    local list = vim.tbl_filter(function(diagnostic)
      return (diagnostic.severity or 1) <= least
    end, vim.diagnostic.get(buf))
    table.sort(list, diagnostics.is_worse)
    vim.list_extend(all, list)
  end
  return all
end

---Waits until the file's servers have reported on its current text.
---@return string? note if a server has not
local function freshen(task, buf)
  if #lsp.clients(buf) == 0 and not lsp.is_starting(buf) then
    return nil
  end
  task:progress("Waiting for the language servers to judge the file")
  local late = task:await(function(resume)
    fresh.wait({ buf }, WAIT_MS, resume)
  end)
  local names = {}
  for client_id in pairs(late and late[buf] or {}) do
    local client = vim.lsp.get_client_by_id(client_id)
    names[#names + 1] = client and client.name
  end
  return #names > 0 and ("(%s has not judged the present text yet.)"):format(table.concat(names, ", ")) or nil
end

---@param own string a file of another worktree of its repository is not listed
---@return integer[] bufs with diagnostics and not withheld, sorted by name
local function all_bufs(own)
  local is_elsewhere = workspace.elsewhere(own)
  local bufs, seen = {}, {}
  for _, diagnostic in ipairs(vim.diagnostic.get()) do
    local buf = diagnostic.bufnr --[[@as integer]]
    if not seen[buf] then
      seen[buf] = true
      local is_told = privacy.verdict(buf) == "tell"
      if is_told and not is_elsewhere(vim.api.nvim_buf_get_name(buf)) then
        bufs[#bufs + 1] = buf
      end
    end
  end
  table.sort(bufs, function(left, right)
    return vim.api.nvim_buf_get_name(left) < vim.api.nvim_buf_get_name(right)
  end)
  return bufs
end

---Diagnostics of a file, or of all files known to the editor.
---@param task claude-ide.language.Task
---@param args { path?: string, severity?: "error"|"warning"|"info"|"hint", cursor?: string }
---@param folders? string[] that paths are relative to; default: the workspace's
---@return claude-ide.language.List
function M.list(task, args, folders)
  local least = SEVERITIES[args.severity] or 4
  local bufs, note, shown
  if args.path then
    local buf = locate.buffer(task, args.path)
    note = freshen(task, buf)
    bufs, shown = { buf }, locate.shown(args.path, folders)
  else
    bufs = all_bufs((folders or workspace.folders())[1])
  end
  local all = collect(bufs, least)
  local what = shown or "the files that the editor knows"
  local watched = not args.path or #lsp.clients(bufs[1]) > 0
  local none = watched and "Nothing is wrong in %s"
    or "Nothing is known to be wrong in %s, which no language server watches"
  return {
    head = ("%s in %s:"):format(counts(all), what),
    none = table.concat({ none:format(what) .. ".", note }, "\n"),
    count = #all,
    entry = function(index)
      local diagnostic = all[index] --[[@as vim.Diagnostic]]
      local buf = diagnostic.bufnr --[[@as integer]]
      local unsaved = vim.bo[buf].modified and " (with unsaved changes)" or ""
      local path = locate.shown(vim.api.nvim_buf_get_name(buf), folders)
      return { group = path .. unsaved, text = M.line_of(diagnostic) }
    end,
    cursor = args.cursor,
    notes = note and { note } or nil,
  }
end

---@param task claude-ide.language.Task
---@param args { path?: string, severity?: "error"|"warning"|"info"|"hint", cursor?: string }
---@return { text: string }
function M.text(task, args)
  return paging.pages(task, M.list(task, args))
end

---Diagnostics in a range of lines.
---@param buf integer
---@param first integer from 1
---@param last integer
---@return string[]
function M.within(buf, first, last)
  local lines = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local lnum = diagnostic.lnum + 1
    if
      lnum <= last
      and math.max((diagnostic.end_lnum or diagnostic.lnum) + 1, lnum) >= first
      and #lines < 50
    then
      lines[#lines + 1] = ("line %d: %s: %s"):format(
        lnum,
        WORDS[diagnostic.severity or 1] or "error",
        (diagnostics.message(diagnostic):gsub("\n", " "))
      )
    end
  end
  return lines
end

return M
