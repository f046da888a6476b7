-- Decides which buffers may be shown to Claude: real files that are not withheld.
-- Verdicts are cached by name, so that moving the cursor does not read the disk.
local M = {}

local api = vim.api

---@alias claude-ide.privacy.Verdict
---| "tell" a file, not withheld
---| "private" a file that is withheld
---| "elsewhere" no file: a terminal, a help page, a folder, a buffer without a name

---@type table<string, claude-ide.privacy.Verdict> by buffer name
local verdicts = {}

local is_set = false

---Gives the library the configuration, once.
local function set()
  if is_set then
    return
  end
  local globs = require("claude-ide.config").get().selection.deny
  local expanded = vim.tbl_map(function(glob)
    return (vim.startswith(glob, "~/") and vim.fs.normalize(glob) or glob) .. "\0"
  end, globs)
  local folders = table.concat(require("claude-ide.workspace").folders(), "\0")
  local bad = require("claude-ide.native").privacy("set", table.concat(expanded), folders)
  is_set = bad ~= nil
  for _, each in ipairs(bad or {}) do
    local message = ("selection.deny: %q withholds nothing: %s"):format(globs[each.glob], each.why)
    require("claude-ide.ui.notice").warn(message)
  end
end

---The glob that withholds a path, its target, or a hard link of the file in the workspace. Without the library everything is withheld.
---@param path string absolute
---@return string? glob
function M.denied_by(path)
  set()
  local number, err = require("claude-ide.native").privacy("denies", path)
  return err or number and require("claude-ide.config").get().selection.deny[number]
end

---@class claude-ide.privacy.File
---@field path string
---@field glob integer that withholds it, by its number in the option

---Withheld files in the workspace.
---@return claude-ide.privacy.File[]
function M.files()
  set()
  return require("claude-ide.native").privacy("files") or {}
end

---Whether a file is withheld: by a glob, or by its buffer, which may be unloaded.
---@param path string absolute
---@return boolean
function M.withholds(path)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  return buf ~= nil and buffer.is_private(buf) or M.denied_by(path) ~= nil
end

---@param buf integer
---@return claude-ide.privacy.Verdict
function M.verdict(buf)
  if not api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return "elsewhere"
  end
  local name = api.nvim_buf_get_name(buf)
  local verdict = verdicts[name]
  if not verdict then
    if not require("claude-ide.path").is_plain(name) or vim.fn.isdirectory(name) == 1 then
      verdict = "elsewhere"
    else
      verdict = M.denied_by(name) and "private" or "tell"
    end
    verdicts[name] = verdict
  end
  if verdict == "tell" and require("claude-ide.buffer").is_private(buf) then
    return "private"
  end
  return verdict
end

---Clears the cache, after a change of the configuration, a link or the workspace.
function M.reset()
  verdicts = {}
  is_set = false
  require("claude-ide.privacy.withheld").reset()
end

return M
