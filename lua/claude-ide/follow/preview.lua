-- The window that shows where Claude is: which one it is, its file and lines, and the mark beside them.
-- Invariants: it is never the window with the focus. Its jumplist, its alternate file and the cursors of other windows stay as they are.
-- It only scrolls if the lines are out of sight.
local lazy = require("claude-ide.lazy")
local file_window = lazy("claude-ide.ui.file_window")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local highlights = lazy("claude-ide.ui.highlights")
local timers = lazy("claude-ide.base.timer")

---@class claude-ide.follow.Preview
---@field win integer
---@field buf? integer what was shown last
---@field topline? integer likewise: another one is the user's
---@field timer claude-ide.Timer until the lines are no longer lit
local Preview = {}
Preview.__index = Preview

---How long lines are lit.
local LIT_MS = 1500
---More lines are not lit one by one.
local MOST_LIT = 500

local NAMESPACE = vim.api.nvim_create_namespace("claude-ide.follow")
local LIT = vim.api.nvim_create_namespace("claude-ide.follow.lit")

---By the number of the agent: the session, then its subagents.
local GROUPS = { "ClaudeFollow", "ClaudeFollowAgent1", "ClaudeFollowAgent2", "ClaudeFollowAgent3" }
local LINKS = {
  ClaudeFollowLines = "Visual",
  ClaudeFollow = "DiagnosticVirtualTextInfo",
  ClaudeFollowAgent1 = "DiagnosticVirtualTextHint",
  ClaudeFollowAgent2 = "DiagnosticVirtualTextOk",
  ClaudeFollowAgent3 = "DiagnosticVirtualTextWarn",
}

---A window for files that does not have the focus; a new split if there is none.
---@return claude-ide.follow.Preview
function Preview.open()
  highlights.link(LINKS)
  local current = vim.api.nvim_get_current_win()
  local win = file_window.choose(-1, vim.api.nvim_get_current_tabpage(), current)
    or file_window.split(vim.api.nvim_win_get_buf(current))
  return setmetatable({ win = win, timer = timers.new("unlight lines") }, Preview)
end

---Whether the window is there, and shows what it was given.
---@return boolean
function Preview:is_ours()
  return vim.api.nvim_win_is_valid(self.win)
    and (not self.buf or vim.api.nvim_win_get_buf(self.win) == self.buf)
end

---Whether the user has scrolled it.
---@return boolean
function Preview:is_scrolled()
  local info = vim.fn.getwininfo(self.win)[1]
  return self.topline ~= nil and info ~= nil and info.topline ~= self.topline
end

function Preview:unlight()
  self.timer:stop()
  if self.buf and vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_clear_namespace(self.buf, LIT, 0, -1)
  end
end

function Preview:unmark()
  self:unlight()
  if self.buf and vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_clear_namespace(self.buf, NAMESPACE, 0, -1)
  end
end

---The line that has the most room for a text behind it, the first one if all fit.
---@param first integer 1-based
---@param last integer
---@param width integer of the text
---@return integer lnum
local function roomiest(buf, win, first, last, width)
  local room = vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff
  local best, least = first, math.huge
  for at, line in ipairs(vim.api.nvim_buf_get_lines(buf, first - 1, math.min(last, first + 20), false)) do
    local taken = #line < 1000 and vim.fn.strdisplaywidth(line) or #line
    if taken + width <= room then
      return first + at - 1
    elseif taken < least then
      best, least = first + at - 1, taken
    end
  end
  return best
end

---@param text string
---@param agent integer number of the agent
---@param first integer 1-based
---@param last integer
function Preview:mark(text, agent, first, last)
  local buf = self.buf --[[@as integer]]
  local group = GROUPS[(agent - 1) % #GROUPS + 1]
  local label = " " .. text .. " "
  local lnum = roomiest(buf, self.win, first, last, vim.fn.strdisplaywidth(label) + 2)
  vim.api.nvim_buf_set_extmark(buf, NAMESPACE, lnum - 1, 0, {
    virt_text = { { "  " }, { label, group } },
    hl_mode = "combine",
  })
end

---Says something beside what is shown.
---@param text string
---@param agent integer
function Preview:say(text, agent)
  if self:is_ours() and self.buf then
    local lnum = vim.api.nvim_win_get_cursor(self.win)[1]
    vim.api.nvim_buf_clear_namespace(self.buf, NAMESPACE, 0, -1)
    self:mark(text, agent, lnum, lnum)
  end
end

---@param first integer
---@param last integer
function Preview:light(first, last)
  local buf = self.buf --[[@as integer]]
  for lnum = first, math.min(last, first + MOST_LIT) do
    vim.api.nvim_buf_set_extmark(
      buf,
      LIT,
      lnum - 1,
      0,
      { line_hl_group = "ClaudeFollowLines", priority = 10 }
    )
  end
  self.timer:start(LIT_MS, function()
    self:unlight()
  end)
end

---Shows lines of a file. The window scrolls only if they are out of sight.
---@param buf integer loaded
---@param first integer 1-based
---@param last? integer nil: to its end
---@return integer first within the file
---@return integer last
function Preview:show(buf, first, last)
  self:unmark()
  local count = vim.api.nvim_buf_line_count(buf)
  first = math.max(math.min(first, count), 1)
  last = math.max(math.min(last or count, count), first)
  vim.api.nvim_win_call(self.win, function()
    if vim.api.nvim_win_get_buf(self.win) ~= buf then
      vim.cmd("noautocmd keepalt keepjumps hide buffer " .. buf)
      hidden.show_to_edit(buf, self.win)
    end
    local top, bottom = vim.fn.line("w0"), vim.fn.line("w$")
    local height = vim.api.nvim_win_get_height(self.win)
    local is_in_sight = first >= top and math.min(last, first + height - 1) <= bottom
    vim.api.nvim_win_set_cursor(self.win, { first, 0 })
    if not is_in_sight then
      local above = math.max(math.floor((height - (last - first + 1)) / 2), 0)
      vim.fn.winrestview({ topline = math.max(first - above, 1), leftcol = 0 })
    end
    if vim.fn.foldclosed(first) > 0 then
      vim.cmd("normal! zv")
    end
  end)
  self.buf = buf
  self.topline = vim.fn.getwininfo(self.win)[1].topline
  self:light(first, last)
  return first, last
end

---The user has come into the window: what it shows is theirs from now on.
function Preview:hand_over()
  self:unmark()
  if self.buf and self:is_ours() then
    vim.api.nvim_win_call(self.win, function()
      vim.api.nvim_exec_autocmds("BufWinEnter", { buffer = self.buf })
    end)
  end
end

function Preview:close()
  self:unmark()
  self.timer:stop()
end

return Preview
