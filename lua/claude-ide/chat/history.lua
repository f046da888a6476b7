-- Prompt history and unsent drafts, by project, on disk.
local lazy = require("claude-ide.lazy")
local files = lazy("claude-ide.base.file")
local json_table = lazy("claude-ide.base.json_table")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local process = lazy("claude-ide.base.process")

local M = {}

---Limit per project.
local MOST = 200
---Longer prompts are not kept.
local MAX_BYTES = 64 * 1024
---Of a file with all of them, escaped.
local MAX_FILE = 8 * MOST * MAX_BYTES
---Separates the drafts of two prompts.
local GAP = "\n\n"

---@class claude-ide.chat.history.File
---@field prompts string[] latest last
---@field draft? string

---@param cwd string
---@param extension "json"|"open"
---@return string? path nil: there is no library
local function path_of(cwd, extension)
  local name = native.digest(cwd)
  return name and ("%s/claude-ide/chat/%s.%s"):format(vim.fn.stdpath("state"), name:sub(1, 16), extension)
end

---@param path? string
---@return table
local function read_json(path)
  local text = path and files.read_now(path, MAX_FILE)
  return json_table(text or nil) or {}
end

---@param path? string
---@param value table
---@return boolean ok
local function write_json(path, value)
  if not path then
    return false
  end
  files.make_folder(vim.fs.dirname(path), files.PRIVATE)
  local ok, text = pcall(vim.json.encode, value)
  if not ok or not files.replace(path, text) then
    log.warn("prompts cannot be kept in %s", path)
    return false
  end
  return true
end

---@param cwd string
---@return claude-ide.chat.history.File
local function read(cwd)
  local found = read_json(path_of(cwd, "json"))
  return {
    prompts = type(found.prompts) == "table" and found.prompts or {},
    draft = type(found.draft) == "string" and found.draft or nil,
  }
end

---@param cwd string
---@param kept claude-ide.chat.history.File
---@return boolean ok
local function write(cwd, kept)
  return write_json(path_of(cwd, "json"), kept)
end

---@param cwd string
---@return string[] latest last
function M.list(cwd)
  return read(cwd).prompts
end

---@param cwd string
---@param text string
function M.add(cwd, text)
  if #text > MAX_BYTES then
    return
  end
  local kept = read(cwd)
  kept.prompts = vim.tbl_filter(function(before)
    return before ~= text
  end, kept.prompts)
  table.insert(kept.prompts, text)
  while #kept.prompts > MOST do
    table.remove(kept.prompts, 1)
  end
  write(cwd, kept)
end

---Keeps what is left at a prompt, after the drafts of others.
---@param cwd string
---@param text string
---@return boolean ok
function M.keep_draft(cwd, text)
  local kept = read(cwd)
  kept.draft = kept.draft and kept.draft .. GAP .. text or text
  return write(cwd, kept)
end

local own_pid = tostring(vim.uv.os_getpid())
---@type table<string, true> projects whose texts at open prompts this Neovim has written
local written = {}

---@param cwd string
---@param open table<string, string[]> by process
local function write_open(cwd, open)
  local path = path_of(cwd, "open")
  if next(open) then
    write_json(path, open)
  elseif path then
    vim.uv.fs_unlink(path)
  end
end

---Keeps the texts at this Neovim's open prompts in a file beside the drafts, in case it ends without notice: when it is killed or its
---terminal is closed, Neovim frees the buffers before any autocommand.
---@param cwd string
---@param texts string[]
function M.keep_open(cwd, texts)
  local open = read_json(path_of(cwd, "open"))
  written[cwd], open[own_pid] = true, #texts > 0 and texts or nil
  write_open(cwd, open)
end

---@param cwd string
---@param pid string
---@return boolean
local function is_gone(cwd, pid)
  if pid == own_pid then
    return not written[cwd]
  end
  return not process.runs(tonumber(pid) or 0)
end

---Makes drafts of the texts at prompts of Neovims that ended without notice.
---@param cwd string
local function adopt(cwd)
  local open = read_json(path_of(cwd, "open"))
  for pid, texts in pairs(open) do
    if type(pid) == "string" and type(texts) == "table" and is_gone(cwd, pid) then
      for _, text in ipairs(texts) do
        M.keep_draft(cwd, tostring(text))
      end
      open[pid] = nil
      write_open(cwd, open)
    end
  end
end

---The drafts of a project, as one text.
---@param cwd string
---@return string?
function M.draft(cwd)
  adopt(cwd)
  return read(cwd).draft
end

---Takes the draft, which the user then has again.
---@param cwd string
---@return string?
function M.take_draft(cwd)
  adopt(cwd)
  local kept = read(cwd)
  local draft = kept.draft
  if draft then
    kept.draft = nil
    write(cwd, kept)
  end
  return draft
end

return M
