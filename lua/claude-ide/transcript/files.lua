-- Opens files named in a transcript: the path under the cursor, or the line of a diff.

local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local file_window = lazy("claude-ide.ui.file_window")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")

local M = {}

---@param path string
---@param view claude-ide.transcript.View
---@return string? path absolute, existing
local function resolve(path, view)
  path = path:gsub("^file://", ""):gsub("^~/", (vim.env.HOME or "~") .. "/")
  local places = vim.startswith(path, "/") and { path }
    or vim.tbl_map(function(folder)
      return folder .. "/" .. path
    end, vim.list_extend({ view.cwd }, { vim.fn.getcwd() }))
  for _, place in ipairs(places) do
    if vim.uv.fs_stat(place) then
      return paths.normalize(place)
    end
  end
  return nil
end

---The path under the cursor, possibly with a position: "a.lua:12:3", "a.lua#L12", "a.lua(12)".
---@param text string the line
---@param col integer byte, 0-based
---@return string? path
---@return integer? lnum
function M.under(text, col)
  for first, target, after in text:gmatch("()%[[^%]]*%]%(([^%s()]+)%)()") do
    if col + 1 >= first and col + 1 < after then
      text, col = target, 0 -- target of a link
      break
    end
  end
  local from = 1
  while true do
    local first, last = text:find("[^%s\"'`<>|,;%[%]{}]+", from)
    if not first or not last then
      return nil
    elseif col + 1 <= last then
      local word = text:sub(first, last)
      word = word:gsub("^%(+", ""):gsub("^@", "")
      local path, lnum = word:match("^(.-):(%d+)")
      if not path then
        path, lnum = word:match("^(.-)#L(%d+)")
      end
      if not path then
        path, lnum = word:match("^(.-)%((%d+)")
      end
      path = (path or word):gsub("[.:)!?]+$", "")
      return path ~= "" and path or nil, tonumber(lnum) --[[@as integer?]]
    end
    from = last + 1
  end
end

---The line of the file at a line of a diff.
---@param item claude-ide.transcript.Item
---@param offset integer
---@return integer?
function M.diff_line(item, offset)
  local after = 0
  for at = offset, 0, -1 do
    local text = item.lines[at + 1]
    local start = tonumber(text:match("^%s*@@ %-%d+,%d+ %+(%d+),%d+ @@$"))
    if start then
      return math.floor(start) + math.max(after - 1, 0)
    end
    local sign = text:match("^%s%s%s%s(.)")
    after = after + ((sign == "-" and at ~= offset) and 0 or 1)
  end
  return nil
end

---A chat keeps its window: files open in a window for files.
---@param view claude-ide.transcript.View
---@param path string
---@return boolean
local function go_where_files_are(view, path)
  local tab = vim.api.nvim_get_current_tabpage()
  local win = view.source.is_chat and file_window.choose(vim.fn.bufnr(path), tab)
  if win then
    vim.api.nvim_set_current_win(win)
  end
  return win and true or not view.source.is_chat
end

---@param view claude-ide.transcript.View
---@param path string
---@param lnum? integer
---@param how claude-ide.transcript.HowToOpen
local function edit(view, path, lnum, how)
  local stat, why_not = file.stat_regular(path)
  if not stat and vim.fn.isdirectory(path) == 0 then
    notice.error(("%s cannot be opened: %s."):format(path, why_not))
    return
  end
  vim.cmd("normal! m'")
  if how == "edit" and (not go_where_files_are(view, path) or vim.wo.winfixbuf) then
    how = "split"
  end
  local ok, err = pcall(vim.cmd[how], { args = { path }, magic = { file = false, bar = false } })
  if not ok then
    notice.error((tostring(err):gsub("^.-Vim%b():", "")))
    return
  end
  if lnum then
    local last = vim.api.nvim_buf_line_count(0)
    vim.api.nvim_win_set_cursor(0, { math.max(math.min(lnum, last), 1), 0 })
    vim.cmd("normal! zv")
  end
end

---Opens a file, if it exists.
---@param view claude-ide.transcript.View
---@param path? string
---@param lnum? integer
---@param how claude-ide.transcript.HowToOpen
function M.open(view, path, lnum, how)
  local found = path and resolve(path, view)
  if found then
    edit(view, found, lnum, how)
  else
    notice.info(path and ("There is no %s."):format(path) or "There is no path here.")
  end
end

return M
