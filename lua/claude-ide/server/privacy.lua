-- Decides which buffers may be shown to Claude: real files that are not withheld.
-- Verdicts are cached by name, so that moving the cursor does not read the disk.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local files = lazy("claude-ide.base.file")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local api = vim.api

---@alias claude-ide.privacy.Verdict
---| "tell" a file, not withheld
---| "private" a file that is withheld
---| "elsewhere" no file: a terminal, a help page, a folder, a buffer without a name

---@type table<string, claude-ide.privacy.Verdict> by buffer name
local verdicts = {}

local is_set = false

---Gives the library the configuration. Idempotent.
function M.load()
  if is_set then
    return
  end
  local globs = config.get().selection.deny
  local expanded = vim.tbl_map(function(glob)
    return (vim.startswith(glob, "~/") and vim.fs.normalize(glob) or glob) .. "\0"
  end, globs)
  local folders = table.concat(workspace.folders(), "\0")
  local bad = native.privacy("set", table.concat(expanded), folders)
  is_set = bad ~= nil
  for _, each in ipairs(bad or {}) do
    local message = ("selection.deny: %q withholds nothing: %s"):format(globs[each.glob], each.why)
    notice.warn(message)
  end
end

---The glob that withholds a path, its target, or a hard link of the file in the workspace. Without the library everything is withheld.
---@param path string absolute
---@return string? glob
function M.denied_by(path)
  M.load()
  local number, err = native.privacy("denies", path)
  return err or number and config.get().selection.deny[number]
end

---@class claude-ide.privacy.File
---@field path string
---@field glob integer that withholds it, by its number in the option

---Withheld files in the workspace.
---@return claude-ide.privacy.File[]
function M.files()
  M.load()
  return native.privacy("files") or {}
end

---Whether a file is withheld: by a glob, or by its buffer, which may be unloaded.
---@param path string absolute
---@return boolean
function M.withholds(path)
  local buf = buffer.find(path)
  return buf ~= nil and buffer.is_private(buf) or M.denied_by(path) ~= nil
end

---@type table<integer, true>
local watched = {}

local forget_wiped = require("claude-ide.base.once")(function()
  api.nvim_create_autocmd("BufWipeout", {
    group = api.nvim_create_augroup("claude-ide.privacy", { clear = true }),
    desc = "Claude Code: forget deleted buffers",
    callback = function(event)
      watched[event.buf] = nil
    end,
  })
end)

---A buffer's variable was set.
---@param buf integer
function M.changed(buf)
  bus.emit("privacy_changed", buf)
end

---Reports when a buffer becomes private, or is so no more: a program or the user may set its variable at any time.
---@param buf integer loaded
function M.watch(buf)
  if watched[buf] then
    return
  end
  watched[buf] = true
  forget_wiped()
  api.nvim_buf_call(buf, function()
    local call = ("v:lua.require'claude-ide.server.privacy'.changed(%d)"):format(buf)
    vim.cmd(("silent! call dictwatcheradd(b:, 'claude_private', {-> %s})"):format(call))
  end)
end

---@param name string of a buffer
---@return claude-ide.privacy.Verdict
local function verdict_of_name(name)
  local verdict = verdicts[name]
  if not verdict then
    if not paths.is_plain(name) or vim.fn.isdirectory(name) == 1 then
      verdict = "elsewhere"
    else
      verdict = M.denied_by(name) and "private" or "tell"
    end
    verdicts[name] = verdict
  end
  return verdict
end

---@param buf integer
---@return claude-ide.privacy.Verdict
function M.verdict(buf)
  if not api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return "elsewhere"
  end
  local verdict = verdict_of_name(api.nvim_buf_get_name(buf))
  return verdict == "tell" and buffer.is_private(buf) and "private" or verdict
end

---Whether a text of a file may be shown to Claude that is in a buffer of ours, for a selection.
---@param path string absolute
---@return boolean
function M.may_tell(path)
  local buf = verdict_of_name(path) == "tell" and buffer.find(path) or nil
  if buf and api.nvim_buf_is_loaded(buf) then
    M.watch(buf)
  end
  return verdict_of_name(path) == "tell" and not (buf and buffer.is_private(buf))
end

-- Language servers may quote strings of a withheld file in messages about other files.

local MAX_BYTES = 256 * 1024
---Shorter strings occur in every file.
local LEAST_BYTES = 4

---@class claude-ide.privacy.Strings of a version of a file
---@field key string
---@field set table<string, true>

---@type table<string, claude-ide.privacy.Strings>
local known = {}

---@return table<string, true>
local function strings_of(text)
  local set = {}
  for _, literal in text:gmatch("([\"'`])([^\n]-)%1") do
    if #literal >= LEAST_BYTES then
      set[literal] = true
    end
  end
  return set
end

---@param name string of a file or a buffer
---@param key string changes with the text
---@param read fun(): string?
---@return table<string, true>
local function cached(name, key, read)
  if not known[name] or known[name].key ~= key then
    known[name] = { key = key, set = strings_of(read() or "") }
  end
  return known[name].set
end

---@type table<string, true>[], integer?
local last_sets, last_at

---@return table<string, true>[]
local function sets()
  if last_at == vim.uv.now() then
    return last_sets -- for many diagnostics at once
  end
  local all = {}
  for _, file in ipairs(M.files()) do
    local stat = vim.uv.fs_stat(file.path)
    if stat and stat.type == "file" then
      local key = ("%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size)
      all[#all + 1] = cached(file.path, key, function()
        return (files.read_now(file.path, MAX_BYTES))
      end)
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and buffer.is_private(buf) then
      all[#all + 1] = cached("buffer " .. buf, tostring(vim.api.nvim_buf_get_changedtick(buf)), function()
        return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n"):sub(1, MAX_BYTES)
      end)
    end
  end
  last_sets, last_at = all, vim.uv.now()
  return all
end

---@param set table<string, true>
local function holds(set, segment)
  local start = segment:match("^(.*)…$") or segment:match("^(.*)%.%.%.$") -- servers shorten long strings
  if not start or #start < LEAST_BYTES then
    return set[segment] == true
  end
  for literal in pairs(set) do
    if vim.startswith(literal, start) then
      return true
    end
  end
  return false
end

---Redacts strings of withheld files in a text of a language server.
---@param text string
---@return string
function M.redact(text)
  if not text:find("[\"'`]") then
    return text
  end
  local all = sets()
  if #all == 0 then
    return text
  end
  return (
    text:gsub("[^\"'`]+", function(segment)
      for _, set in ipairs(all) do
        if #segment >= LEAST_BYTES and holds(set, segment) then
          return "(withheld)"
        end
      end
    end)
  )
end

---Clears the cache, after a change of the configuration, a link or the workspace.
function M.reset()
  verdicts = {}
  is_set = false
  known, last_at = {}, nil
end

return M
