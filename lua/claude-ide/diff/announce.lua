-- The `User` events of diffs.
local M = {}

---@param name "ClaudeDiffOpened"|"ClaudeDiffClosed"
---@param diff claude-ide.Diff
local function emit(name, diff)
  require("claude-ide.event").emit(name, {
    id = diff.id,
    client = diff.source.client,
    path = diff.path,
    tab_name = diff.tab_name,
    outcome = diff.state ~= "pending" and diff.state or nil,
  })
end

---@param diff claude-ide.Diff that is on the screen now
function M.opened(diff)
  emit("ClaudeDiffOpened", diff)
end

---@param diff claude-ide.Diff that is settled; it may never have been on the screen
function M.closed(diff)
  emit("ClaudeDiffClosed", diff)
end

return M
