-- Decides which buffers may be shown to Claude: real files that are not withheld.
-- Verdicts are cached by name, so that moving the cursor does not read the disk.
local M = {}

local api, uv = vim.api, vim.uv

---@alias claude-ide.privacy.Verdict
---| "tell" a file, not withheld
---| "private" a file that is withheld
---| "elsewhere" no file: a terminal, a help page, a folder, a buffer without a name

---@type table<string, claude-ide.privacy.Verdict> by buffer name
local verdicts = {}

---The glob that withholds a hard link of this file.
---@param stat uv.fs_stat.result
---@return string? glob
local function denied_link(stat)
  for _, file in ipairs(require("claude-ide.privacy.withheld").files()) do
    local other = uv.fs_stat(file.path)
    if other and other.ino == stat.ino and other.dev == stat.dev then
      return file.glob
    end
  end
end

---The glob that withholds a path, its target, or a hard link of the file in the workspace.
---@param path string absolute
---@return string? glob
function M.denied_by(path)
  local denied_by = require("claude-ide.privacy.names").denied_by
  local glob = denied_by(path)
  if glob then
    return glob
  end
  local real = uv.fs_realpath(path)
  glob = real and real ~= path and denied_by(real) or nil
  local stat = real and not glob and uv.fs_stat(real)
  if stat and stat.type == "file" and stat.nlink > 1 then
    glob = denied_link(stat)
  end
  return glob
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
  require("claude-ide.privacy.names").reset()
  require("claude-ide.privacy.withheld").reset()
end

return M
