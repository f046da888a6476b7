-- A diff as one of the proposed edits that commands list, go to and decide (`claude-ide.decisions.Edits`).
local M = {}

---@param diff claude-ide.Diff
---@return claude-ide.diff.Entry?
local function entry_of(diff)
  return require("claude-ide.diff.on_screen").get(diff.id)
end

---@param diff claude-ide.Diff
---@return boolean
function M.is_here(diff)
  local entry = entry_of(diff)
  return entry ~= nil and entry.view ~= nil and require("claude-ide.diff.view").is_current(entry.view)
end

---@param diff claude-ide.Diff
---@return boolean
function M.is_seen(diff)
  local entry = entry_of(diff)
  return entry ~= nil
    and entry.text ~= nil
    and require("claude-ide.ui.guard.window").is_seen(entry.text.bufs.proposal)
end

---@param diff claude-ide.Diff
---@return string
function M.called(diff)
  return vim.fs.basename(diff.path)
end

---@param diff claude-ide.Diff
---@return table
function M.item(diff)
  local entry = entry_of(diff) or {}
  local text, view = entry.text, entry.view
  return {
    path = diff.path,
    tab_name = diff.tab_name,
    added = text and text.comparison.added,
    removed = text and text.comparison.removed,
    first = text and text.comparison.hunks[1] and text.comparison.hunks[1].old,
    against = text and text.now.against,
    tab = view and view.tab,
  }
end

---@param diff claude-ide.Diff
---@return boolean? ok
---@return string? err
function M.focus(diff)
  local entry = entry_of(diff)
  if not entry or not entry.text then
    return nil, "The diff is still being made."
  end
  local locked = require("claude-ide.ui.guard.waits").why_locked()
  if locked then
    return nil, locked
  end
  require("claude-ide.ui.guard").forget(diff.id)
  if not require("claude-ide.diff.presenter").show(entry, { asked = true }) then
    return nil, "The diff cannot be shown."
  end
  require("claude-ide.diff.view").focus(entry.view --[[@as claude-ide.diff.View]])
  return true
end

---@param diff claude-ide.Diff
---@return boolean? ok
---@return string? err
function M.accept(diff)
  return require("claude-ide.diff.presenter").accept(diff)
end

---@param diff claude-ide.Diff
---@param reason? string
function M.reject(diff, reason)
  require("claude-ide.diff.presenter").reject(diff, reason)
end

return M
