-- The lines above the windows of a changeset: what is shown, and which keys do what. What there is no room for gives way.
local M = {}

---What gives way first, in each of them.
local RANKS = {
  layout = 1,
  help = 2,
  why = 3,
  next_file = 4,
  side = 5,
  next = 6,
  drop_file = 7,
  hunk = 8,
  counts = 9,
  kept = 10,
  title = 11,
  file = 12,
  state = 13,
  reject = 14,
  accept = 15,
}

---@param set "diff"|"review"
---@param name string
---@param otherwise? string
---@return string
local function key(set, name, otherwise)
  local keys = require("claude-ide.config").get()[set].keymaps[name]
  return require("claude-ide.ui.winbar_text").key_name(keys or false, otherwise or "")
end

---@param rank integer
---@param lhs string
---@param what string
---@param right? boolean
---@return claude-ide.ui.Piece?
local function hint(rank, lhs, what, right)
  return require("claude-ide.ui.winbar_text").hint(rank, lhs, what, right)
end

---@param pieces table<integer, claude-ide.ui.Piece?> with gaps
---@param count integer
---@param width integer
---@return string
local function winbar(pieces, count, width)
  return require("claude-ide.ui.winbar_text").of_those(pieces, count, width)
end

---@param path string
---@return claude-ide.ui.Piece
local function name(path)
  return require("claude-ide.ui.winbar_text").file(RANKS.file, path)
end

---@param changeset claude-ide.Changeset
---@param width integer of the window
---@return string
function M.of_list(changeset, width)
  return winbar({
    require("claude-ide.ui.winbar_text").name(RANKS.title, "ClaudeDiffFile", changeset.title),
  }, 1, width)
end

---@param entry claude-ide.changeset.Entry
---@param width integer of the window
---@return string
function M.of_now(entry, width)
  local file = entry.file
  local unsaved = file.source ~= nil and file.source.unsaved
  local what = not file.before and "does not exist yet"
    or unsaved and "now, with your unsaved changes"
    or "now"
  local group = unsaved and "ClaudeDiffWarning" or "ClaudeDiffSide"
  local side = require("claude-ide.ui.winbar_text").sentence(RANKS.side, group, "· " .. what)
  return winbar({ name(file.from or file.path), side }, 2, width)
end

---@param entry claude-ide.changeset.Entry
---@param left claude-ide.changeset.Left
---@return claude-ide.ui.Piece?
local function state(entry, left)
  local file = entry.file
  if left.nothing then
    return { rank = RANKS.state, texts = { { "ClaudeDiffRejected", " · dropped " } } }
  elseif file.kind == "deleted" then
    return { rank = RANKS.state, texts = { { "ClaudeDiffWarning", " · will be deleted " } } }
  elseif file.kind == "renamed" then
    local from = vim.fn.strtrans(vim.fn.fnamemodify(file.from --[[@as string]], ":~:."))
    return { rank = RANKS.state, texts = { { "ClaudeDiffWarning", (" · moved from %s "):format(from) } } }
  elseif file.kind == "created" then
    return { rank = RANKS.side, texts = { { "ClaudeDiffSide", " · new file " } } }
  end
  return { rank = RANKS.side, texts = { { "ClaudeDiffSide", " · proposal " } } }
end

---@param entry claude-ide.changeset.Entry
---@param left claude-ide.changeset.Left
---@param is_alone boolean no window shows the present text
---@param width integer of the window
---@return string
function M.of_proposal(entry, left, is_alone, width)
  local kept, counts, warning
  if not left.nothing then
    local texts = {
      { "ClaudeDiffAdded", (" +%d"):format(left.added) },
      { "ClaudeDiffRemoved", (" −%d "):format(left.removed) },
    }
    counts = left.added + left.removed > 0 and { rank = RANKS.counts, texts = texts } or nil
    local words = (" %d of %d kept "):format(left.kept, left.total)
    kept = left.kept < left.total and { rank = RANKS.kept, texts = { { "ClaudeDiffWarning", words } } } or nil
  end
  if is_alone and entry.file.source and entry.file.source.unsaved then
    warning = { rank = RANKS.kept + 0.5, texts = { { "ClaudeDiffWarning", " with your unsaved changes " } } }
  end
  return winbar({
    name(entry.file.path),
    state(entry, left),
    kept,
    counts,
    warning,
    hint(RANKS.accept, key("diff", "accept", ":Claude accept"), "accept all", true),
    hint(RANKS.reject, key("diff", "reject", ":q"), "reject", true),
    hint(RANKS.hunk, key("diff", "hunk"), "drop", true),
    hint(RANKS.drop_file, key("review", "undo_file"), "drop file", true),
    hint(RANKS.next, "]c", "next", true),
    hint(RANKS.next_file, key("review", "next_file"), "file", true),
    hint(RANKS.layout, key("diff", "layout"), "layout", true),
    hint(RANKS.why, key("diff", "reject_with_reason"), "say why", true),
    hint(RANKS.help, key("diff", "help"), "keys", true),
  }, 14, width)
end

return M
