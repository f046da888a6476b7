-- `:Claude add`: mentions files and folders, or lines of a file.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local file = lazy("claude-ide.base.file")
local ide_path = lazy("claude-ide.base.path")
local mention = lazy("claude-ide.context.mention")
local server = lazy("claude-ide.server")

local M = {}

local function line_number(word)
  return word and word:match("^%d+$") and tonumber(word) or nil
end

---Expands `%`, `#`, `~` and `$VAR`; nothing else in a name is special, since `[id].tsx` is a valid name.
local function expand(name)
  if not vim.uv.fs_stat(name) and name:match("^[%%#~$]") then
    local expanded = vim.fn.expand(name) --[[@as string]]
    if expanded ~= "" then
      return expanded
    end
  end
  return name
end

local MAX_BYTES = 16 * 1024 * 1024

---@param path string
---@param first integer
---@param last integer
---@return string? err
local function beyond(path, first, last)
  local bytes = file.read_now(path, MAX_BYTES)
  if not bytes then
    return nil -- a folder, which has no lines
  end
  local _, count = bytes:gsub("\n", "")
  count = count + (bytes:find("[^\n]$") and 1 or 0)
  local lnum = first < 1 and first or last
  if lnum < 1 or lnum > count then
    local has = counted(count, "line")
    return ("`:Claude add`: there is no line %.0f: %s has %s."):format(lnum, ide_path.short(path), has)
  end
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  if #words == 0 then
    return nil, "`:Claude add` needs a file or a folder, e.g. `:Claude add %`."
  end
  local first, last = line_number(words[2]), line_number(words[3])
  local names = words
  if first and #words <= (last and 3 or 2) then
    if last and last < first then
      return nil, ("`:Claude add`: line %d comes after line %d."):format(first, last)
    end
    names = { words[1] }
  else
    first, last = nil, nil
  end
  local paths = vim.tbl_map(expand, names)
  for _, path in ipairs(paths) do
    if not vim.uv.fs_stat(path) then
      return nil, ("`:Claude add`: there is no %s."):format(path)
    end
  end
  local wrong = first and beyond(paths[1], first, last or first)
  if wrong then
    return nil, wrong
  end
  local ok, err = server.start()
  if not ok then
    return nil, err
  end
  if first then
    return mention.send_file(paths[1], first, last or first)
  end
  return mention.send_files(paths)
end

---@param word string
---@return string[]
function M.complete(word)
  return vim.fn.getcompletion(word, "file")
end

return M
