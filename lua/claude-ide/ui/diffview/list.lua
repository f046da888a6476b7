-- The list of files of a review or proposal: per line a file, its kind of change, counts, and state.
local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")
local ide_width = lazy("claude-ide.base.width")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local patch = lazy("claude-ide.editor.buffer.patch")
local paths = lazy("claude-ide.base.path")
local user_write = lazy("claude-ide.ui.user_write")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diffview.list")

local MIN_WIDTH, MAX_WIDTH = 28, 44

local LINKS = {
  ClaudeReviewFile = "Normal",
  ClaudeReviewShown = "Title",
  ClaudeReviewFolder = "Comment",
  ClaudeReviewDone = "Comment",
  ClaudeReviewNew = "Special",
  ClaudeReviewComments = "DiagnosticInfo",
}

local KINDS = {
  modified = { "~", "Changed" },
  created = { "+", "Added" },
  deleted = { "−", "Removed" },
}

---Icons of files that were undone or dropped.
local ICONS = { undone = "↶", dropped = "◌", gone = "·" }

---Before the icon of a file that has changed since the user looked at it.
local NEW = "•"

---A row.
---@class claude-ide.diffview.Listed
---@field path string
---@field change? claude-ide.diffview.ListedChange nil: no change is left
---@field waits boolean has changes to review
---@field is_new? boolean has changed since the user looked at it
---@field comments? integer that are open
---@field outcome? "kept"|"undone"|"dropped"|"gone"

---@class claude-ide.diffview.ListedChange
---@field kind "created"|"modified"|"deleted"
---@field added integer lines
---@field removed integer
---@field conflicts integer
---@field behind? boolean
---@field binary? boolean
---@field by_user? boolean the user has deleted it
---@field moved_from? string
---@field moved_to? string

---Words of the summary.
---@class claude-ide.diffview.Words
---@field none string nothing is left to review
---@field done string reviewed files

---@type claude-ide.diffview.Words
local WORDS = { none = " ✓ all reviewed", done = "done" }

---@type table<integer, fun()> by buffer
local draw_again = {}

---@return integer buf
function M.make()
  highlights.link(LINKS)
  for before in pairs(draw_again) do
    draw_again[before] = vim.api.nvim_buf_is_valid(before) and draw_again[before] or nil
  end
  local buf ---@type integer
  buf = own_buffer.create({
    kind = "changes",
    name = { "changes", "Claude" },
    is_private = true,
    draw_again = function()
      draw_again[buf]()
    end,
    bo = { buftype = "acwrite", undolevels = -1, filetype = "claude-review" },
  })
  user_write.follow(buf, { desc = "say that a list is no file", still = "the list stays" }, function()
    notice.info("The list is not a file. `<CR>` goes to the file.")
  end)
  return buf
end

---@param path string
---@return string name
---@return string folder
local function split(path)
  local shown = vim.fn.strtrans(paths.short(path))
  local folder = vim.fs.dirname(shown)
  return vim.fs.basename(shown), folder ~= "." and folder or ""
end

---@param entry claude-ide.diffview.Listed
---@return string icon
---@return string group
local function icon(entry)
  if not entry.change or not entry.waits then
    return ICONS[entry.outcome] or "✓", "ClaudeReviewDone"
  end
  if entry.change.behind then
    return "!", "ClaudeDiffWarning"
  end
  return unpack(KINDS[entry.change.kind])
end

---@param entry claude-ide.diffview.Listed
---@return string[][] virtual text
local function lines_changed(entry)
  local change = entry.change
  if not change or not entry.waits then
    return { { (entry.outcome or "reviewed") .. " ", "ClaudeReviewDone" } }
  end
  local what = change.moved_to and "moved away"
    or change.moved_from and "moved here"
    or change.by_user and "deleted by you"
    or change.binary and "binary"
    or change.conflicts + change.added + change.removed == 0 and "empty"
  if what then
    return { { what .. " ", "ClaudeReviewFolder" } }
  end
  local chunks = {}
  if change.conflicts > 0 then
    chunks[1] = { ("!%d "):format(change.conflicts), "ClaudeDiffWarning" }
  end
  if change.added > 0 then
    chunks[#chunks + 1] = { ("+%d "):format(change.added), "ClaudeDiffAdded" }
  end
  if change.removed > 0 then
    chunks[#chunks + 1] = { ("−%d "):format(change.removed), "ClaudeDiffRemoved" }
  end
  return chunks
end

---@param entry claude-ide.diffview.Listed
---@return string[][] virtual text
local function tally(entry)
  local chunks = lines_changed(entry)
  if entry.comments then
    table.insert(chunks, 1, { ("▎%d "):format(entry.comments), "ClaudeReviewComments" })
  end
  return chunks
end

---Width for names and counts, within limits.
---@param entries claude-ide.diffview.Listed[]
---@return integer columns
function M.width(entries)
  local widest = MIN_WIDTH
  for _, entry in ipairs(entries) do
    local name, folder = split(entry.path)
    widest = math.max(widest, vim.fn.strdisplaywidth(name .. folder) + 18)
  end
  return math.min(widest, MAX_WIDTH, math.floor(vim.o.columns / 4) + 8)
end

---@param entries claude-ide.diffview.Listed[]
---@param words claude-ide.diffview.Words
---@return string[][][] virtual lines
local function summary(entries, words)
  local waiting, added, removed, conflicts, new = 0, 0, 0, 0, 0
  for _, entry in ipairs(entries) do
    local change = entry.change
    if change and entry.waits then
      waiting, new = waiting + 1, new + (entry.is_new and 1 or 0)
      if not (change.moved_to or change.moved_from or change.binary) then
        added, removed = added + change.added, removed + change.removed
      end
      conflicts = conflicts + change.conflicts
    end
  end
  local are_gone = vim.iter(entries):any(function(entry)
    return entry.outcome == "gone"
  end)
  if waiting == 0 and are_gone then
    return { { { "" } }, { { " · nothing is left", "ClaudeDiffSide" } } }
  elseif waiting == 0 then
    return { { { "" } }, { { words.none, "ClaudeDiffAccepted" } } }
  end
  local done = #entries - waiting
  ---@type string[][][]
  local lines = {
    { { "" } },
    {
      { (" %d %s"):format(waiting, waiting == 1 and "file" or "files"), "ClaudeReviewFolder" },
      { ("  +%d"):format(added), "ClaudeDiffAdded" },
      { (" −%d"):format(removed), "ClaudeDiffRemoved" },
      { done > 0 and ("  %d %s"):format(done, words.done) or "", "ClaudeReviewFolder" },
    },
  }
  if new > 0 then
    lines[#lines + 1] = { { ("%s%d new since you looked"):format(NEW, new), "ClaudeReviewNew" } }
  end
  if conflicts > 0 then
    local word = conflicts == 1 and "place" or "places"
    lines[#lines + 1] = { { (" !%d %s you changed too"):format(conflicts, word), "ClaudeDiffWarning" } }
  end
  return lines
end

local function colour(buf, row, first, last, group)
  vim.api.nvim_buf_set_extmark(buf, namespace, row, first, { end_col = last, hl_group = group })
end

---Sets the list's lines; the cursor stays on its file. A list that is at its top stays there, others at the file at their top.
---@param buf integer
---@param lines string[]
local function set_lines(buf, lines)
  local at_top = vim.tbl_filter(function(win)
    return vim.fn.line("w0", win) == 1
  end, vim.fn.win_findbuf(buf))
  own_buffer.change(buf, function()
    patch.apply(buf, lines, false)
  end)
  for _, win in ipairs(at_top) do
    vim.api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = 1 })
    end)
  end
end

---Redraws the list.
---@param buf integer
---@param entries claude-ide.diffview.Listed[]
---@param shown integer index of the displayed file
---@param words? claude-ide.diffview.Words default: those of a review
function M.render(buf, entries, shown, words)
  draw_again[buf] = function()
    M.render(buf, entries, shown, words)
  end
  local lines, width = {}, M.width(entries)
  for i, entry in ipairs(entries) do
    local name, folder = split(entry.path)
    local mark = entry.is_new and NEW or " "
    local line = ("%s%s %s  %s"):format(mark, icon(entry), name, folder):gsub("%s+$", "")
    lines[i] = ide_width.cut(line, width - ide_width.of_chunks(tally(entry)) - 1)
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  set_lines(buf, lines)
  for i, entry in ipairs(entries) do
    local sign, group = icon(entry)
    local name = split(entry.path)
    local before = entry.is_new and #NEW or 1
    local from = before + #sign + 1
    if entry.is_new then
      colour(buf, i - 1, 0, before, "ClaudeReviewNew")
    end
    colour(buf, i - 1, before, before + #sign, group)
    local style = i == shown and "ClaudeReviewShown"
      or entry.waits and "ClaudeReviewFile"
      or "ClaudeReviewDone"
    local after = math.min(from + #name, #lines[i])
    colour(buf, i - 1, from, after, style)
    colour(buf, i - 1, after, #lines[i], "ClaudeReviewFolder")
    vim.api.nvim_buf_set_extmark(buf, namespace, i - 1, 0, {
      virt_text = tally(entry),
      virt_text_pos = "right_align",
      hl_mode = "combine",
    })
  end
  vim.api.nvim_buf_set_extmark(
    buf,
    namespace,
    #lines - 1,
    0,
    { virt_lines = summary(entries, words or WORDS) }
  )
end

---Shows the file under the list's cursor; `<CR>` goes to it.
---@param view claude-ide.diffview.View with a list
---@param group integer augroup
---@param show fun(index: integer)
function M.follow(view, group, show)
  local buf = view.list --[[@as integer]]
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = group,
    buffer = buf,
    desc = "Claude Code: show the file under the cursor",
    callback = function()
      if vim.api.nvim_get_current_win() == view.wins.list then
        show(vim.api.nvim_win_get_cursor(0)[1])
      end
    end,
  })
  vim.keymap.set("n", "<CR>", function()
    windows.focus(view)
  end, { buffer = buf, nowait = true, desc = "Claude Code: go to the file" })
end

return M
