-- The lines above the windows of a review: what is shown, and which keys do what. What there is no room for gives way.
local M = {}

---What gives way first, in each of them.
local RANKS = {
  layout = 1,
  help = 2,
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

local function key(name)
  local keys = require("claude-ide.config").get().review.keymaps[name]
  return require("claude-ide.ui.winbar_text").key_name(keys or false, "")
end

---@param rank integer
---@param lhs string
---@param what string
---@param right? boolean
---@return claude-ide.ui.Piece?
local function hint(rank, lhs, what, right)
  return require("claude-ide.ui.winbar_text").hint(rank, lhs, what, right)
end

---@param path string
---@return claude-ide.ui.Piece
local function name(path)
  return require("claude-ide.ui.winbar_text").file(RANKS.file, path)
end

---@param pieces table<integer, claude-ide.ui.Piece?> with gaps
---@param count integer
---@param width integer
---@return string
local function winbar(pieces, count, width)
  return require("claude-ide.ui.winbar_text").of_those(pieces, count, width)
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
  local change = entry.change
  local what = change and change.kind == "created" and not change.moved_from and "did not exist"
    or "before Claude"
  local side = require("claude-ide.ui.winbar_text").sentence(RANKS.side, "ClaudeDiffSide", "· " .. what)
  return winbar({ name(entry.path), side }, 2, width)
end

local function plain_name(path)
  return vim.fn.strtrans(vim.fs.basename(path))
end

---@param entry claude-ide.review.Entry
---@return claude-ide.ui.Piece?
local function state(entry)
  if not entry.waits then
    local group = entry.outcome == "undone" and "ClaudeDiffRejected" or "ClaudeDiffAccepted"
    return { rank = RANKS.state, texts = { { group, " · " .. (entry.outcome or "reviewed") .. " " } } }
  end
  local change = entry.change
  local warning = change
    and (
      change.behind and "on disk, unsaved in your buffer"
      or change.moved_to and "moved to " .. plain_name(change.moved_to)
      or change.kind == "deleted" and "deleted"
    )
  if warning then
    return { rank = RANKS.state, texts = { { "ClaudeDiffWarning", (" · %s "):format(warning) } } }
  end
  local what = change
      and (change.moved_from and "moved from " .. plain_name(change.moved_from) or change.binary and "binary")
    or nil
  return {
    rank = what and RANKS.state or RANKS.side,
    texts = { { "ClaudeDiffSide", (" · %s "):format(what or "now") } },
  }
end

---@param change? claude-ide.journal.Change
---@return claude-ide.ui.Piece?
local function counts(change)
  if not change or change.binary or change.moved_from or change.moved_to then
    return nil
  end
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
  local keymaps, key_name =
    require("claude-ide.config").get().diff.keymaps, require("claude-ide.ui.winbar_text").key_name
  local layout = hint(RANKS.layout, key_name(keymaps.layout, ""), "layout", true)
  local help = hint(RANKS.help, key_name(keymaps.help, ""), "keys", true)
  local next_file = hint(RANKS.next_file, key("next_file"), entry.waits and "file" or "next file", true)
  if not entry.waits then
    return winbar({
      name(entry.path),
      state(entry),
      next_file,
      layout,
      help,
    }, 5, width)
  end
  return winbar({
    name(entry.path),
    state(entry),
    counts(entry.change),
    hint(RANKS.keep, key("keep_hunk"), "keep", true),
    hint(RANKS.undo, key("undo_hunk"), "undo", true),
    hint(RANKS.next, "]c", "next", true),
    next_file,
    layout,
    help,
  }, 9, width)
end

return M
