-- Winbars of a review: the file and the keys. Parts are dropped if there is no room.
local fit = require("claude-ide.ui.winbar_text")
local lazy = require("claude-ide.lazy")
local ide_config = lazy("claude-ide.config")

local M = {}

---The order in which parts are dropped.
local RANKS = {
  layout = 1,
  side = 2,
  next_file = 3,
  close = 4,
  next = 5,
  help = 6,
  counts = 7,
  caller_beside_hidden = 7.5,
  hidden = 8,
  file = 9,
  caller = 10,
  undo = 11,
  keep = 12,
  state = 13,
}

---@param width integer of the window
---@return string
function M.of_list(width)
  local keys = ide_config.get().review.keymaps
  local hints = {
    fit.hint(RANKS.keep, keys.keep_hunk, "keep"),
    fit.hint(RANKS.undo, keys.undo_hunk, "undo"),
    fit.hint(RANKS.close, keys.close, "close"),
  }
  for _, hint in ipairs(hints) do
    hint.right = false
  end
  return fit.winbar(hints, width)
end

---Whose call made the change under the cursor.
---@param rank number
---@param texts? string[] the same in fewer and fewer words
---@return claude-ide.ui.Piece
local function caller(rank, texts)
  local function shown(text)
    return { { "ClaudeDiffSide", (" %s "):format(vim.fn.strtrans(text)) } }
  end
  return {
    rank = rank,
    texts = texts and texts[1] and shown(texts[1]) or {},
    reduced = function(space)
      local text = vim.iter(texts or {}):find(function(one)
        return vim.fn.strdisplaywidth(shown(one)[1][2]) <= space
      end)
      return text and shown(text) or {}
    end,
  }
end

---@param entry claude-ide.review.Entry
---@param width integer of the window
---@param words? string[] whose call made the change under the cursor: the same in fewer and fewer words
---@return string
function M.of_before(entry, width, words)
  local change = entry.change
  local what = change and change.kind == "created" and not change.moved_from and "did not exist"
    or "before Claude"
  local side = fit.sentence(RANKS.side, "ClaudeDiffSide", "· " .. what)
  return fit.winbar({ fit.file(RANKS.file, entry.path), side, caller(RANKS.caller, words) }, width)
end

local function plain_name(path)
  return vim.fn.strtrans(vim.fs.basename(path))
end

---@param entry claude-ide.review.Entry
---@return claude-ide.ui.Piece
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
      or change.by_user and "deleted by you"
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
---@return claude-ide.ui.Piece
local function counts(change)
  if not change or change.binary or change.moved_from or change.moved_to then
    return { rank = RANKS.counts, texts = {} }
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
---@param hidden? integer hidden characters and runs of blanks in the changed lines
---@param words? string[] whose call made the change under the cursor: the same in fewer and fewer words
---@return string
function M.of_file(entry, width, hidden, words)
  local config = ide_config.get()
  local keys, of_diffs = config.review.keymaps, config.diff.keymaps
  local pieces = { fit.file(RANKS.file, entry.path), state(entry) }
  if entry.waits then
    vim.list_extend(pieces, { fit.hidden(RANKS.hidden, hidden) })
    vim.list_extend(pieces, {
      counts(entry.change),
      caller(hidden and hidden > 0 and RANKS.caller_beside_hidden or RANKS.caller, words),
      fit.hint(RANKS.keep, keys.keep_hunk, "keep", { whole = true }),
      fit.hint(RANKS.undo, keys.undo_hunk, "undo", { whole = true }),
      fit.hint(RANKS.next, "]c", "next"),
    })
  end
  vim.list_extend(pieces, {
    fit.hint(RANKS.next_file, keys.next_file, entry.waits and "file" or "next file"),
    fit.hint(RANKS.layout, of_diffs.layout, "layout"),
    fit.hint(RANKS.help, of_diffs.help, "keys"),
  })
  return fit.winbar(pieces, width)
end

return M
