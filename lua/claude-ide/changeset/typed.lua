-- What a user typed into the proposals of a changeset, which is kept where it goes without being accepted or rejected by a key.
local M = {}

---@param entry claude-ide.changeset.Entry
---@return claude-ide.diff.Text? nil: nothing
function M.of(entry)
  if not entry.bufs or not vim.api.nvim_buf_is_loaded(entry.bufs.proposal) then
    return entry.typed
  elseif require("claude-ide.changeset.report").outcome(entry).edited then
    return require("claude-ide.diff.rescued").copy(entry.bufs.proposal)
  end
end

---Remembers it, for its buffers go.
---@param changeset claude-ide.Changeset
function M.note(changeset)
  for _, entry in ipairs(changeset.entries) do
    entry.typed = M.of(entry)
  end
end

---Puts it in buffers of its own.
---@param changeset claude-ide.Changeset
---@return integer? buf the last that is kept
function M.keep(changeset)
  local kept ---@type integer?
  for _, entry in ipairs(changeset.entries) do
    local typed = M.of(entry)
    if typed then
      local called = require("claude-ide.changeset.texts").called(changeset, entry.file)
      kept = require("claude-ide.diff.rescued").put(called, typed)
    end
  end
  return kept
end

return M
