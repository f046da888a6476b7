-- Files that a text names, such as "src/a.lua:12:3": finds the one at a column, and opens it at its line.
-- Invariant: only regular files and folders are opened; a name with special characters is a name.

local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local file = lazy("claude-ide.base.file")
local file_window = lazy("claude-ide.ui.file_window")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")

local M = {}

---@class claude-ide.ui.FileLink
---@field path string as named
---@field lnum? integer
---@field col? integer from 1, in bytes

---`file_window`: in a window for files, `edit`: in the current one.
---@alias claude-ide.ui.HowToOpen "edit"|"file_window"|"split"|"tabedit"

---Positions after a path.
local POSITIONS = { "^(.-):(%d+):?(%d*)", "^(.-)#L(%d+)", "^(.-)%((%d+)" }

---@param word string
---@return claude-ide.ui.FileLink?
local function link_of(word)
  word = word:gsub("^%(+", ""):gsub("^%u%a*%((%D)", "%1"):gsub("^@", "")
  local path, lnum, col
  for _, pattern in ipairs(POSITIONS) do
    if not path then
      path, lnum, col = word:match(pattern)
    end
  end
  path = (path or word):gsub("[.:)!?]+$", "")
  if path == "" then
    return nil
  end
  return {
    path = path,
    lnum = tonumber(lnum) --[[@as integer?]],
    col = tonumber(col) --[[@as integer?]],
  }
end

---The link at a column: "a.lua:12:3", "a.lua#L12", "a.lua(12)", the target of a Markdown link, the argument of a call "Read(a.lua)".
---@param text string a line
---@param col integer byte, 0-based
---@return claude-ide.ui.FileLink?
function M.at(text, col)
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
      return link_of(text:sub(first, last))
    end
    from = last + 1
  end
end

---@param path string as named
---@param folders string[] that it may be relative to
---@return string? path absolute, existing
function M.find(path, folders)
  path = path:gsub("^file://", ""):gsub("^~/", (vim.env.HOME or "~") .. "/")
  local places = vim.startswith(path, "/") and { path }
    or vim.tbl_map(function(folder)
      return folder .. "/" .. path
    end, folders)
  for _, place in ipairs(places) do
    if vim.uv.fs_stat(place) then
      return paths.normalize(place)
    end
  end
  return nil
end

---Between these a name may have any other character.
local QUOTED = { "()`([^`]+)`()", '()"([^"]+)"()', "()'([^']+)'()", "()(%S+)()" }

---The link at a column whose file exists: names with blanks, brackets or commas are found in quotes, in code, or between blanks. Else what
---`at` finds.
---@param text string a line
---@param col integer byte, 0-based
---@param folders string[] that it may be relative to
---@return claude-ide.ui.FileLink?
function M.existing_at(text, col, folders)
  for _, pattern in ipairs(QUOTED) do
    for first, words, after in text:gmatch(pattern) do
      local link = col + 1 >= first and col + 1 < after and link_of((words:gsub("[,;]+$", "")))
      if link and M.find(link.path, folders) then
        local lnum = tonumber(text:match("^:(%d+)", after --[[@as integer]])) --[[@as integer?]]
        link.lnum = link.lnum or lnum -- 'src/a b.lua':4
        return link
      end
    end
  end
  return M.at(text, col)
end

---@param path string
---@param how claude-ide.ui.HowToOpen
---@return boolean is_shown
local function open(path, how)
  if how == "file_window" then
    local buf = buffer.add(path)
    vim.bo[buf].buflisted = true
    return file_window.show(buf) ~= nil
  end
  vim.cmd[how]({ args = { path }, magic = { file = false, bar = false } })
  return true
end

---@param path string
---@param how claude-ide.ui.HowToOpen
---@return boolean? ok
---@return string? err for the user
local function show(path, how)
  local ok, result = pcall(open, path, how)
  if ok then
    return result == true, not result and "There is no window to show it in." or nil
  end
  local err = tostring(result):gsub("^.-Vim%b():", "")
  if not err:find("E325:", 1, true) then
    return nil, err
  end
  -- The user has been asked about its swap file.
  local is_there = buffer.loaded(path) == vim.api.nvim_get_current_buf()
  return is_there, not is_there and "Not opened: it has a swap file." or nil
end

---@param path string absolute
---@param link claude-ide.ui.FileLink
---@param how claude-ide.ui.HowToOpen
local function go(path, link, how)
  local stat, why_not = file.stat_regular(path)
  if not stat and vim.fn.isdirectory(path) == 0 then
    notice.error(("%s cannot be opened: %s."):format(path, why_not))
    return
  end
  vim.cmd("normal! m'")
  local ok, err = show(path, how == "edit" and vim.wo.winfixbuf and "split" or how)
  if not ok then
    notice.error(err or "")
    return
  end
  if link.lnum then
    local last = vim.api.nvim_buf_line_count(0)
    local col = math.max((link.col or 1) - 1, 0)
    vim.api.nvim_win_set_cursor(0, { math.max(math.min(link.lnum, last), 1), col })
    vim.cmd("normal! zv")
  end
end

---Opens a link's file, if it exists.
---@param link? claude-ide.ui.FileLink
---@param folders string[] that it may be relative to
---@param how claude-ide.ui.HowToOpen
function M.open(link, folders, how)
  local path = link and M.find(link.path, folders)
  if link and path then
    go(path, link, how)
  else
    notice.info(link and ("There is no %s."):format(link.path) or "There is no path here.")
  end
end

return M
