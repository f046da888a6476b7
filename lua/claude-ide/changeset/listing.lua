-- The files of a changeset as the list of a review has them: what kind of change it is, how much, and what is dropped.
local M = {}

---As the list of a review has it.
---@param entry claude-ide.changeset.Entry
---@return claude-ide.review.Entry
local function listed(entry)
  local file, left = entry.file, require("claude-ide.changeset.texts").left(entry)
  local is_moved, is_edited = file.kind == "renamed", left.added + left.removed > 0
  -- All that the list looks at.
  local change = {
    path = file.path,
    kind = is_moved and (is_edited and "modified" or "created") or file.kind,
    added = left.added,
    removed = left.removed,
    conflicts = 0,
    binary = false,
    behind = false,
    moved_from = is_moved and not is_edited and file.from or nil,
  }
  return {
    path = file.path,
    waits = not left.nothing,
    outcome = left.nothing and "dropped" or nil,
    change = change --[[@as claude-ide.journal.Change]],
  }
end

local WORDS = { none = " ◌ nothing is kept", done = "dropped" }

---@param buf integer
---@param entries claude-ide.changeset.Entry[]
---@param shown integer index of the one whose texts are on the screen
function M.render(buf, entries, shown)
  require("claude-ide.diffview.list").render(buf, vim.tbl_map(listed, entries), shown, WORDS)
end

---@param entries claude-ide.changeset.Entry[]
---@return integer columns
function M.width(entries)
  return require("claude-ide.diffview.list").width(vim.tbl_map(listed, entries))
end

return M
