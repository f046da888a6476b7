-- `#diff`: changes since the last commit; `#review`: Claude's changes that are not reviewed. Both without withheld files.
local patch = require("claude-ide.ui.diffview.patch_text")
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local checkpoints = lazy("claude-ide.edits.journal.checkpoints")
local counted = lazy("claude-ide.base.counted")
local ide_path = lazy("claude-ide.base.path")
local journal = lazy("claude-ide.edits.journal")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")

local M = {}

---@param path string
---@param cwd string
---@param diff? string
---@return string
local function named(path, cwd, diff)
  local name = position.valid(ide_path.relative(path, cwd))
  return ("--- a/%s\n+++ b/%s\n%s"):format(name, name, diff or "(too large to compare)\n")
end

---@param count integer
---@param what string why files are left out
---@return string
local function note(count, what)
  return count > 0 and ("(%s %s)\n"):format(counted(count, "file is", "files are"), what) or ""
end

---Changes that are not saved, which git does not see.
---@param cwd string
---@return string
local function unsaved(cwd)
  local parts = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].modified and privacy.verdict(buf) == "tell" then
      parts[#parts + 1] = named(vim.api.nvim_buf_get_name(buf), cwd, patch.of_unsaved(buf))
    end
  end
  return #parts > 0 and "(not saved yet:)\n" .. table.concat(parts) or ""
end

---@return string[] paths of files that their buffers withhold
local function private_paths()
  local paths = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    paths[#paths + 1] = buffer.is_private(buf) and vim.api.nvim_buf_get_name(buf) or nil
  end
  return paths
end

---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.read(at, _, done)
  checkpoints.uncommitted(at.cwd, private_paths(), function(found)
    local text = unsaved(at.cwd)
    if found.text then
      text = text
        .. note(found.withheld or 0, "private")
        .. note(found.filtered or 0, "left out: they have a git filter, which is a program")
        .. found.text
    elseif text ~= "" then
      text = ("%s(%s)"):format(text, found.why)
    end
    done(text ~= "" and { text = text } or nil, found.why)
  end)
end

---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.review(at, _, done)
  local parts, withheld = {}, 0
  for _, change in ipairs(journal.changes("unreviewed")) do
    if privacy.withholds(change.path) then
      withheld = withheld + 1
    elseif not change.binary then
      local before, now = buffer_bytes.text(change.without), buffer_bytes.text(change.current or "")
      parts[#parts + 1] = named(change.path, at.cwd, patch.of(before, now))
    end
  end
  local text = note(withheld, "private") .. table.concat(parts)
  done(text ~= "" and { text = text } or nil, "there is no change of Claude's to review")
end

return M
