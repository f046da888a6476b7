-- Signs beside Claude's unreviewed lines in any buffer, and jumps between them.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local covered = lazy("claude-ide.edits.review.covered")
local file = lazy("claude-ide.base.file")
local file_window = lazy("claude-ide.ui.file_window")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local highlights = lazy("claude-ide.ui.highlights")
local hunks = lazy("claude-ide.edits.review.hunks")
local journal = lazy("claude-ide.edits.journal")
local path = lazy("claude-ide.base.path")

local M = {}

local GROUP = "claude-ide.review.signs"

---Limit of signs per buffer.
local MAX_SIGNS = 5000

---Below the signs of git (gitsigns: 6) and of diagnostics. If the sign column has room for one, theirs is shown, underlined
---(`covered.lua`).
local PRIORITY = 5

local namespace = vim.api.nvim_create_namespace(GROUP)

local LINKS = {
  ClaudeSignAdded = "Added",
  ClaudeSignChanged = "Changed",
  ClaudeSignRemoved = "Removed",
  ClaudeSignConflict = "WarningMsg",
}

---Buffers that have signs.
---@type table<integer, true>
local marked = {}

---@param hunk claude-ide.journal.Hunk
---@return string text
---@return string group
local function look(hunk)
  if hunk.state == "conflict" then
    return "▌!", "ClaudeSignConflict"
  elseif #hunk.after_lines == 0 then
    return "▁▁", "ClaudeSignRemoved"
  end
  return "▌", #hunk.before_lines == 0 and "ClaudeSignAdded" or "ClaudeSignChanged"
end

---@param buf integer
---@param change claude-ide.journal.Change
local function mark(buf, change)
  local last_row = vim.api.nvim_buf_line_count(buf) - 1
  local signs = 0
  for _, hunk in ipairs(hunks.remaining(change)) do
    local first, last, count = hunks.range(hunk, "file")
    local text, group = look(hunk)
    for lnum = first, count == 0 and first or last do
      if signs < MAX_SIGNS and lnum - 1 <= last_row then
        signs = signs + 1
        vim.api.nvim_buf_set_extmark(buf, namespace, lnum - 1, 0, {
          sign_text = text,
          sign_hl_group = group,
          priority = PRIORITY,
        })
      end
    end
  end
  marked[buf] = true
end

local function put_all()
  if not config.get().review.signs then
    return
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    local name = is_file and vim.api.nvim_buf_get_name(buf) or ""
    local change = name ~= "" and journal.change(name) or nil
    if change and not change.behind and change.kind ~= "deleted" then
      mark(buf, change)
    end
  end
end

---Places all signs again.
function M.refresh()
  local before = marked
  for buf in pairs(before) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
  marked = {}
  put_all()
  for buf in pairs(before) do
    if not marked[buf] and vim.api.nvim_buf_is_valid(buf) then
      covered.clear(buf)
    end
  end
end

---Starts to show signs.
M.attach = require("claude-ide.base.once")(function()
  highlights.link(LINKS)
  covered.define()
  covered.attach(namespace, function(buf)
    return marked[buf] == true
  end)
  bus.on("journal_changed", M.refresh)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = group,
    desc = "Claude: underline signs of others in the colors of a scheme",
    callback = covered.define,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost" }, {
    group = group,
    desc = "Claude: draw signs of unreviewed changes",
    callback = function(event)
      if journal.change(vim.api.nvim_buf_get_name(event.buf)) then
        vim.schedule(M.refresh)
      end
    end,
  })
end)

---Goes to the next or previous change in the current buffer, else to one in the next or previous file.
---@param step 1|-1
---@return boolean? ok
---@return string? err
function M.jump(step)
  local changes = journal.changes("unreviewed")
  local here = journal.change(vim.api.nvim_buf_get_name(0))
  if here then
    if hunks.jump(here, step, "file", vim.o.wrapscan and #changes == 1) then
      return true
    end
  end
  local at = step == 1 and 0 or 1
  for i, change in ipairs(changes) do
    at = here and change.path == here.path and i or at
  end
  local there = changes[(at - 1 + step) % math.max(#changes, 1) + 1]
  if not there or (here and there.path == here.path) then
    return nil, here and "No more changes by Claude." or "No changes by Claude to review."
  elseif there.kind == "deleted" then
    return nil, path.short(there.path) .. " was deleted. `:Claude review` shows it."
  end
  local buf = hidden.load(there.path)
  if not buf then
    local stat, why_not = file.stat_regular(there.path)
    if not stat then
      return nil, ("%s cannot be shown: %s."):format(path.short(there.path), why_not)
    end
    buf = buffer.add(there.path)
  end
  vim.cmd("normal! m'")
  local win = file_window.show(buf)
  if not win then
    return nil, "There is no window to show it in."
  end
  local list = hunks.remaining(there)
  vim.api.nvim_win_call(win, function()
    hunks.go(hunks.place(list[step == 1 and 1 or #list], "file"))
  end)
  return true
end

return M
