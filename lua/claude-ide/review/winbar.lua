-- The lines above the windows of a review: what is shown, and which keys do what. What there is no room for gives way.
local M = {}

---What gives way first, in each of them.
local RANKS = {
  layout = 1,
  side = 3,
  next_file = 4,
  close = 5,
  next = 6,
  counts = 7,
  file = 8,
  undo = 9,
  keep = 10,
  state = 11,
}

---@param name string
---@return string
local function key(name)
  local keys = require("claude-ide.config").get().review.keymaps[name]
  return require("claude-ide.diff.winbar").key_name(keys or false, "")
end

---@param rank integer
---@param lhs string
---@param what string
---@param right? boolean
---@return claude-ide.ui.Piece? nil: there is no key for it
local function hint(rank, lhs, what, right)
  if lhs ~= "" then
    local texts = { { "ClaudeDiffKey", " " .. lhs }, { "ClaudeDiffHint", " " .. what .. " " } }
    return { rank = rank, right = right, texts = texts }
  end
end

---@param path string
---@return claude-ide.ui.Piece
local function name(path)
  return require("claude-ide.ui.winbar_text").name(RANKS.file, "ClaudeDiffFile", vim.fs.basename(path))
end

---@param pieces table<integer, claude-ide.ui.Piece?> with gaps
---@param count integer
---@param width integer
---@return string
local function winbar(pieces, count, width)
  local there = {}
  for i = 1, count do
    there[#there + 1] = pieces[i]
  end
  return require("claude-ide.ui.winbar_text").winbar(there, width)
end

---@param width integer of the window
---@return string
function M.of_list(width)
  return winbar({
    hint(RANKS.keep, key("keep_hunk"), "keep"),
    hint(RANKS.undo, key("undo_hunk"), "undo"),
    hint(RANKS.close, key("close"), "close"),
  }, 3, width)
end

---@param entry claude-ide.review.Entry
---@param width integer of the window
---@return string
function M.of_before(entry, width)
  local what = entry.change and entry.change.kind == "created" and "did not exist" or "before Claude"
  local side = require("claude-ide.ui.winbar_text").sentence(RANKS.side, "ClaudeDiffSide", "· " .. what)
  return winbar({ name(entry.path), side }, 2, width)
end

---@param entry claude-ide.review.Entry
---@return claude-ide.ui.Piece?
local function state(entry)
  if not entry.waits then
    local group = entry.outcome == "undone" and "ClaudeDiffRejected" or "ClaudeDiffAccepted"
    return { rank = RANKS.state, texts = { { group, " · " .. (entry.outcome or "reviewed") .. " " } } }
  elseif entry.change and entry.change.kind == "deleted" then
    return { rank = RANKS.state, texts = { { "ClaudeDiffWarning", " · deleted " } } }
  end
  return { rank = RANKS.side, texts = { { "ClaudeDiffSide", " · now " } } }
end

---@param change claude-ide.journal.Change
---@return claude-ide.ui.Piece
local function counts(change)
  local texts = {} ---@type claude-ide.ui.Text[]
  for _, count in ipairs({
    { change.added, "ClaudeDiffAdded", " +%d" },
    { change.removed, "ClaudeDiffRemoved", " −%d" },
    { change.conflicts, "ClaudeDiffWarning", " !%d" },
  }) do
    if count[1] > 0 then
      texts[#texts + 1] = { count[2], count[3]:format(count[1]) }
    end
  end
  texts[#texts + 1] = { "ClaudeDiffSide", " " }
  return { rank = RANKS.counts, texts = texts }
end

---@param entry claude-ide.review.Entry
---@param width integer of the window
---@return string
function M.of_file(entry, width)
  local layout = require("claude-ide.config").get().diff.keymaps.layout
  local layout_key = require("claude-ide.diff.winbar").key_name(layout, "")
  local next_file = hint(RANKS.next_file, key("next_file"), entry.waits and "file" or "next file", true)
  if not entry.waits then
    return winbar({
      name(entry.path),
      state(entry),
      next_file,
      hint(RANKS.layout, layout_key, "layout", true),
    }, 4, width)
  end
  return winbar({
    name(entry.path),
    state(entry),
    entry.change and counts(entry.change),
    hint(RANKS.keep, key("keep_hunk"), "keep", true),
    hint(RANKS.undo, key("undo_hunk"), "undo", true),
    hint(RANKS.next, "]c", "next", true),
    next_file,
    hint(RANKS.layout, layout_key, "layout", true),
  }, 8, width)
end

return M
