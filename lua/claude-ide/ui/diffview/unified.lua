-- The unified layout: the right side's buffer, editable, with removed lines as virtual lines above added ones.
local lazy = require("claude-ide.lazy")
local changed_words = lazy("claude-ide.ui.diffview.changed_words")
local config = lazy("claude-ide.config")
local counted = lazy("claude-ide.base.counted")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local first_change = lazy("claude-ide.ui.diffview.first_change")
local key_list = lazy("claude-ide.ui.key_list")
local nearest_first = lazy("claude-ide.ui.diffview.nearest_first")
local redraws = lazy("claude-ide.base.redraw")
local removed_lines = lazy("claude-ide.ui.diffview.removed_lines")

local M = {}

---Unfolded lines around a hunk, unless set in 'diffopt'.
local CONTEXT = 6

local namespace = vim.api.nvim_create_namespace("claude-ide.diffview.unified")
local looks = vim.api.nvim_create_namespace("claude-ide.diffview.unified.looks")

---@class claude-ide.diffview.Unified
---@field pair claude-ide.diffview.Pair
---@field win integer with the cursor; the right one, or another of its buffer
---@field look claude-ide.diffview.Look
---@field heights table<claude-ide.buffer.Hunk, integer> virtual rows of removed lines
---@field syntax? claude-ide.diffview.Syntax of the left side; nil: none, or not parsed yet
---@field generation integer incremented by each redraw

---@param win integer
---@return claude-ide.diffview.Look
local function look_of(win)
  local info, height = vim.fn.getwininfo(win)[1], vim.api.nvim_win_get_height(win)
  local beside = math.min(vim.wo[win].scrolloff, math.floor(height / 2))
  return {
    width = math.max(info.width - info.textoff, 10),
    -- Neovim cannot scroll to virtual lines beyond these.
    rows = math.max(height - 2 - beside, 1),
    wrap = vim.wo[win].wrap,
    tabstop = vim.bo[vim.api.nvim_win_get_buf(win)].tabstop,
  }
end

---@param count integer
---@return string
local function note_of(count)
  local rest = counted(count, "more removed line")
  local key = key_list.keys(config.get().diff.keymaps.removed)[1]
  return key and ("… %s: %s shows all"):format(rest, key) or "… " .. rest
end

---@param self claude-ide.diffview.Unified
---@param hunk claude-ide.buffer.Hunk
---@param spans table<integer, claude-ide.diffview.Span[]> by line of the hunk
---@return claude-ide.diffview.Chunk[][]
local function removed_rows(self, hunk, spans)
  local rows = {}
  local most, shown = self.look.rows, 0
  local colours = {}
  if self.syntax then
    colours =
      removed_lines.colours(self.pair.bufs.left, hunk.old, math.min(hunk.old_count, most), self.syntax)
  end
  while shown < hunk.old_count do
    local i = shown + 1
    local line = self.pair.hunks.old[hunk.old + i - 1]
    local changed = spans[i] and spans[i][1] and spans[i][1][1]
    local of_line = removed_lines.rows(line, spans[i] or {}, colours[i], self.look, changed)
    if #rows + #of_line > (i == hunk.old_count and most or most - 1) then
      rows[#rows + 1] = removed_lines.rows(note_of(hunk.old_count - shown), {}, nil, self.look)[1]
      break
    end
    vim.list_extend(rows, of_line)
    shown = i
  end
  return rows
end

---Whether a change's removed lines are drawn below its place.
---@param hunks claude-ide.diffview.Differences
---@param hunk claude-ide.buffer.Hunk
---@return boolean
local function is_below(hunks, hunk)
  -- Above the first line only the end of many rows would be visible.
  return hunk.new > vim.api.nvim_buf_line_count(hunks.buf) or diffview_hunks.is_emptied(hunks)
end

---@param hunks claude-ide.diffview.Differences
---@param hunk claude-ide.buffer.Hunk
---@param rows claude-ide.diffview.Chunk[][]
local function draw_removed(hunks, hunk, rows)
  local buf, below = hunks.buf, is_below(hunks, hunk)
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_buf_set_extmark(buf, namespace, math.min(hunk.new, last) - 1, 0, {
    virt_lines = rows,
    virt_lines_above = not below,
    right_gravity = below,
    undo_restore = false,
  })
end

---@param self claude-ide.diffview.Unified
---@param hunk claude-ide.buffer.Hunk
local function draw(self, hunk)
  local buf, old_spans = self.pair.hunks.buf, {}
  local new =
    vim.api.nvim_buf_get_lines(buf, hunk.new - 1, hunk.new - 1 + math.min(hunk.new_count, 200), false)
  if hunk.new_count > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, hunk.new - 1, 0, {
      end_row = hunk.new - 1 + hunk.new_count,
      hl_group = "ClaudeDiffAddedLine",
      hl_eol = true,
      strict = false,
      priority = 20,
      undo_restore = false,
    })
    local old = vim.list_slice(self.pair.hunks.old, hunk.old, hunk.old + math.min(hunk.old_count, 200) - 1)
    for i, j in pairs(changed_words.pair(old, new)) do
      local new_spans
      old_spans[i], new_spans = changed_words.between(old[i], new[j])
      for _, span in ipairs(new_spans) do
        vim.api.nvim_buf_set_extmark(buf, namespace, hunk.new + j - 2, span[1], {
          end_col = span[2],
          hl_group = "ClaudeDiffAddedWord",
          strict = false,
          priority = 21,
          undo_restore = false,
        })
      end
    end
  end
  local rows = removed_rows(self, hunk, old_spans)
  self.heights[hunk] = #rows
  if #rows > 0 then
    draw_removed(self.pair.hunks, hunk, rows)
  end
end

---@param self claude-ide.diffview.Unified
---@return boolean
local function is_shown(self)
  return self.pair.unified == self
    and vim.api.nvim_buf_is_loaded(self.pair.hunks.buf)
    and vim.api.nvim_win_is_valid(self.win)
end

---Scrolls to virtual lines above the first line, which are hidden by default.
---@param self claude-ide.diffview.Unified
local function show_top(self)
  local hunk = self.pair.hunks.list[1]
  local above = hunk and hunk.new == 1 and not is_below(self.pair.hunks, hunk)
  local rows = above and self.heights[hunk] or 0
  if rows > 0 and vim.fn.line("w0", self.win) == 1 then
    vim.api.nvim_win_call(self.win, function()
      if vim.fn.winsaveview().topfill < rows then
        vim.fn.winrestview({ topfill = math.min(rows, vim.api.nvim_win_get_height(self.win) - 2) })
      end
    end)
  end
end

---Redraws all hunks, those near the window first.
---@param self claude-ide.diffview.Unified
local function redraw(self)
  local generation = self.generation + 1
  self.generation = generation
  self.look, self.heights = look_of(self.win), {}
  vim.api.nvim_buf_clear_namespace(self.pair.hunks.buf, namespace, 0, -1)
  nearest_first.draw(self.pair.hunks.list, self.pair.hunks, self.win, function(hunk)
    draw(self, hunk)
  end, function()
    return generation == self.generation and is_shown(self)
  end)
  show_top(self)
end

---@type table<claude-ide.diffview.Unified, true>
local shown = {}

local function redraw_if_other_look()
  for self in pairs(shown) do
    if is_shown(self) and not vim.deep_equal(look_of(self.win), self.look) then
      redraw(self)
    end
  end
end

---Draws removed lines anew when a window's width for text has changed. Only a redraw finds that out: signs that come later widen the
---sign column.
local function follow_looks()
  redraws.on(looks, "follow the width of a diff", {
    on_end = next(shown) and function()
      for self in pairs(shown) do
        if is_shown(self) and not vim.deep_equal(look_of(self.win), self.look) then
          return vim.schedule(redraw_if_other_look)
        end
      end
    end or nil,
  })
end

---Goes to a change, with its removed lines visible.
---@param pair claude-ide.diffview.Pair
---@param hunk claude-ide.buffer.Hunk
---@param win integer
function M.go_to(pair, hunk, win)
  local self = pair.unified
  if not self then
    return
  end
  self.win = win
  if not self.heights[hunk] then
    draw(self, hunk)
  end
  local rows, below = self.heights[hunk], is_below(pair.hunks, hunk)
  local lnum, column = first_change.place(pair.hunks, win, hunk, rows)
  first_change.reveal(win, lnum, column, below and 0 or rows, lnum < hunk.new and not below)
end

---Unfolded lines around a change.
---@return integer
local function context()
  local given = tonumber(("," .. vim.o.diffopt):match(",context:(%d+)")) --[[@as integer?]]
  return math.max(given or CONTEXT, 1)
end

---Commands that fold what is unchanged between two lines.
---@param hunks claude-ide.buffer.Hunk[] the changes between them
---@param first integer
---@param last integer
---@return string
local function folds_between(hunks, first, last)
  local commands, around = {}, context()
  local function fold_until(lnum)
    if lnum > first then
      commands[#commands + 1] = ("%d,%dfold"):format(first, lnum)
    end
  end
  for _, hunk in ipairs(hunks) do
    fold_until(hunk.new - 1 - around)
    first = math.max(first, hunk.new + hunk.new_count + around)
  end
  fold_until(last)
  return table.concat(commands, "\n")
end

---Folds unchanged text, like diff mode. The folds are created once, so that folds opened by the user stay open.
---@param pair claude-ide.diffview.Pair
local function fold(pair)
  local wo, list = vim.wo[pair.wins.right][0], pair.hunks.list
  wo.foldmethod, wo.foldlevel, wo.foldenable = "manual", 0, true
  vim.api.nvim_win_call(pair.wins.right, function()
    vim.cmd("normal! zE")
    if #list > 0 then
      vim.api.nvim_exec2(folds_between(list, 1, vim.fn.line("$")), {})
    end
  end)
end

---Shows a change within a closed fold of the current window. Its lines further away are folded again.
---@param hunk claude-ide.buffer.Hunk
---@param lnum integer of the fold
---@param may_move boolean the cursor may be moved: the user's mode allows it
local function unfold_change(hunk, lnum, may_move)
  if not may_move then
    return vim.cmd.foldopen({ range = { lnum }, bang = true })
  end
  local first, last = vim.fn.foldclosed(lnum), vim.fn.foldclosedend(lnum)
  vim.api.nvim_win_set_cursor(0, { lnum, 0 })
  vim.cmd("normal! zd")
  vim.api.nvim_exec2(folds_between({ hunk }, first, last), {})
end

---Shows changes that have come within closed folds. The other folds stay.
---@param pair claude-ide.diffview.Pair
function M.unfold_changes(pair)
  if not pair.unified then
    return
  end
  local is_normal = vim.api.nvim_get_mode().mode == "n"
  vim.api.nvim_win_call(pair.wins.right, function()
    if vim.wo.foldmethod ~= "manual" then
      return -- the user has set another, which cannot delete folds (E351)
    end
    local view, count = vim.fn.winsaveview(), vim.fn.line("$")
    for _, hunk in ipairs(pair.hunks.list) do
      local lnum = math.min(hunk.new, count)
      local last = math.min(hunk.new + math.max(hunk.new_count, 1) - 1, count)
      while lnum <= last do
        local fold_end = vim.fn.foldclosedend(lnum)
        if fold_end > 0 then
          unfold_change(hunk, lnum, is_normal)
        end
        lnum = math.max(lnum, fold_end) + 1
      end
    end
    if is_normal then
      vim.fn.winrestview(view)
    end
  end)
end

---@param pair claude-ide.diffview.Pair
local function unfold(pair)
  local win = pair.wins.right
  -- The user may have shown another buffer in the window, or set another 'foldmethod', which cannot delete folds (E351).
  if not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= pair.bufs.right then
    return
  end
  if vim.wo[win].foldmethod == "manual" then
    vim.api.nvim_win_call(win, function()
      vim.cmd("normal! zE")
    end)
  end
  for _, option in ipairs({ "foldmethod", "foldlevel", "foldenable" }) do
    vim.wo[win][0][option] = vim.go[option]
  end
end

---@param pair claude-ide.diffview.Pair with only the right window
function M.show(pair)
  local win = pair.wins.right
  local self = {
    pair = pair,
    win = win,
    look = look_of(win),
    heights = {},
    generation = 0,
  }
  pair.unified = self
  fold(pair)
  redraw(self)
  shown[self] = true
  follow_looks()
  vim.schedule(function()
    if is_shown(self) then
      self.syntax = removed_lines.syntax(pair.bufs.left)
      if self.syntax then
        redraw(self)
      end
    end
  end)
end

---@param pair claude-ide.diffview.Pair
function M.go_to_first(pair)
  local first = pair.hunks.list[1]
  if first then
    M.go_to(pair, first, pair.wins.right)
  end
end

---The text has changed.
---@param pair claude-ide.diffview.Pair
function M.refresh(pair)
  if pair.unified and is_shown(pair.unified) then
    redraw(pair.unified)
  end
end

---@param pair claude-ide.diffview.Pair
function M.hide(pair)
  local self, buf = pair.unified, pair.bufs.right
  if not self then
    return
  end
  pair.unified = nil
  unfold(pair)
  shown[self] = nil
  follow_looks()
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

return M
