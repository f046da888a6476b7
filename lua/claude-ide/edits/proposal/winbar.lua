-- Winbars of a diff: what a side is, and the keys to decide.
local fit = require("claude-ide.ui.winbar_text")
local lazy = require("claude-ide.lazy")
local ide_config = lazy("claude-ide.config")
local key_list = lazy("claude-ide.ui.key_list")
local paths = lazy("claude-ide.base.path")

local M = {}

---Pieces are dropped in this order when the window is narrow; the key for the list of keys is the last one.
local RANKS = {
  why = 1,
  layout = 2,
  drop_file = 3,
  hunk = 4,
  next_file = 5,
  side = 6,
  next = 7,
  help = 8,
  counts = 9,
  others = 10,
  unseen = 11,
  now = 12,
  kept = 13,
  rough = 14,
  note = 15,
  hidden = 16,
  file = 17,
  decide = 18,
}

---@param rank integer
---@param warning string
---@return claude-ide.ui.Piece
local function warn(rank, warning)
  return fit.sentence(rank, "ClaudeDiffWarning", warning)
end

---@param diff claude-ide.Diff of several files
---@param width integer of the window
---@return string
function M.of_list(diff, width)
  return fit.winbar({ fit.name(RANKS.file, "ClaudeDiffFile", diff.tab_name) }, width)
end

---@param path string
---@param now claude-ide.proposal.Now
---@param width integer of the window
---@param unseen? string changes other than of lines
---@return string
function M.of_left(path, now, width, unseen)
  local group, what = "ClaudeDiffSide", "now"
  if now.is_past then
    group, what = "ClaudeDiffWarning", "before the file changed"
  elseif now.disk.problem then
    group, what = "ClaudeDiffWarning", now.disk.problem
  elseif now.against == "buffer" then
    group, what = "ClaudeDiffWarning", "now, with your unsaved changes"
  elseif now.against == "nothing" then
    what = "does not exist yet"
  end
  local side = fit.sentence(RANKS.now, group, "· " .. what)
  local pieces = { fit.file(RANKS.file, path), side } ---@type claude-ide.ui.Piece[]
  if unseen then
    pieces[3] = warn(RANKS.unseen, unseen)
    pieces[3].right = true
  end
  return fit.winbar(pieces, width)
end

---Warning about the current text.
---@param now claude-ide.proposal.Now
---@return string? warning
local function warning_of(now)
  return now.is_past and "the file has changed since"
    or now.disk.problem
    or now.against == "buffer" and "with your unsaved changes"
    or nil
end

---@class claude-ide.proposal.WinbarOpts
---@field file claude-ide.proposal.File
---@field remaining claude-ide.proposal.Remaining of the file
---@field others integer number of other waiting diffs
---@field width integer of the window
---@field now? claude-ide.proposal.Now if no other window shows it
---@field unseen? string changes other than of lines, likewise
---@field is_rough? boolean its changes are marked as one
---@field hidden? integer hidden characters and runs of blanks in its changed lines

---Description of a proposal, or of the operation on a file.
---@param diff claude-ide.Diff
---@param opts claude-ide.proposal.WinbarOpts
---@return claude-ide.ui.Piece
local function state(diff, opts)
  local kind = opts.file.kind
  local rank, group, text = RANKS.side, "ClaudeDiffSide", ("%s's proposal"):format(diff.requester.name)
  if opts.remaining.nothing then
    rank, group, text = RANKS.now, "ClaudeDiffRejected", "dropped"
  elseif kind == "deleted" then
    rank, group, text = RANKS.now, "ClaudeDiffWarning", "will be deleted"
  elseif kind == "renamed" then
    local from = vim.fn.strtrans(paths.short(opts.file.from --[[@as string]]))
    rank, group, text = RANKS.now, "ClaudeDiffWarning", "moved from " .. from
  elseif kind == "created" then
    rank, text = RANKS.now, "new file"
  elseif diff.plan and #diff.files == 1 then
    rank, text = RANKS.now, diff.tab_name -- which is above the list of several files
  end
  if diff.requester.is_one_of_several then
    local is_named = rank == RANKS.side
    rank, text = RANKS.others, is_named and text or ("%s: %s"):format(diff.requester.name, text)
  end
  return { rank = rank, early = rank == RANKS.side, texts = { { group, (" · %s "):format(text) } } }
end

---The accept and reject keys, shown at any width.
---@return claude-ide.ui.Piece
local function decide()
  local config = ide_config.get().diff
  local keys = key_list.keys
  local accept = keys(config.keymaps.accept)[1] or config.accept_on_write and ":w" or ":Claude accept"
  local reject = keys(config.keymaps.reject)[1] or ":q"
  local key, hint = "ClaudeDiffKey", "ClaudeDiffHint"
  local close = {
    { key, accept, accept },
    { hint, " accept ", accept },
    { key, reject, reject },
    { hint, " reject", reject },
  }
  local bare = { { key, accept .. " ", accept }, { key, reject, reject } }
  return {
    rank = RANKS.decide,
    right = true,
    texts = {
      { key, " " .. accept, accept },
      { hint, " accept ", accept },
      { key, " " .. reject, reject },
      { hint, " reject ", reject },
    },
    reduced = function(space)
      return #accept + #reject + 15 <= space and close or bare
    end,
  }
end

---@param diff claude-ide.Diff
---@param opts claude-ide.proposal.WinbarOpts
---@return string
function M.of_right(diff, opts)
  local pieces, remaining = {}, opts.remaining
  ---@param piece? claude-ide.ui.Piece
  local function add(piece)
    pieces[#pieces + 1] = piece
  end
  add(fit.file(RANKS.file, opts.file.path))
  add(state(diff, opts))
  if remaining.kept < remaining.total and not remaining.nothing then
    local short = (" %d of %d "):format(remaining.kept, remaining.total)
    local texts = { { "ClaudeDiffWarning", short .. "selected " } } ---@type claude-ide.ui.Text[]
    add({ rank = RANKS.kept, texts = texts, short = { "ClaudeDiffWarning", short } })
  end
  local added = { "ClaudeDiffAdded", (" +%d"):format(remaining.added) }
  local removed = { "ClaudeDiffRemoved", (" −%d "):format(remaining.removed) }
  if not remaining.nothing and (not diff.plan or remaining.added + remaining.removed > 0) then
    add({ rank = RANKS.counts, texts = { added, removed } })
  end
  add(diff.note and warn(RANKS.note, diff.note) or nil)
  add(opts.unseen and warn(RANKS.unseen, opts.unseen))
  add(opts.is_rough and warn(RANKS.rough, "all marked as one change") or nil)
  add(fit.hidden(RANKS.hidden, opts.hidden))
  local warning = opts.now and warning_of(opts.now)
  add(warning and warn(RANKS.now, warning))
  if opts.others > 0 then
    local others = { "ClaudeDiffHint", (" %d more "):format(opts.others) }
    add({ rank = RANKS.others, right = true, texts = { others } })
  end
  local keymaps = ide_config.get().diff.keymaps
  add(decide())
  add(fit.hint(RANKS.next, "]c", "next"))
  add(fit.hint(RANKS.hunk, keymaps.hunk, "drop"))
  if #diff.files > 1 then
    local of_files = ide_config.get().review.keymaps
    add(fit.hint(RANKS.drop_file, of_files.undo_file, "drop file"))
    add(fit.hint(RANKS.next_file, of_files.next_file, "file"))
  end
  add(fit.hint(RANKS.layout, keymaps.layout, "layout"))
  add(fit.hint(RANKS.why, keymaps.reject_with_reason, "say why"))
  add(fit.hint(RANKS.help, keymaps.help, "keys"))
  return fit.winbar(pieces, opts.width)
end

---The winbar of an accepted diff that is still shown.
---@param path string
---@return string
function M.of_accepted(path)
  return fit.part("ClaudeDiffFile", " " .. vim.fs.basename(path))
    .. fit.part("ClaudeDiffAccepted", " · accepted")
end

return M
