-- Buffers that stand for a place in a transcript, for lists of files: `claude://grep/<session>/<line>`, numbered if a line has
-- several. Entering one shows the transcript at that line in its window.

local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local bus = lazy("claude-ide.base.bus")
local notice = lazy("claude-ide.base.notice")
local window = lazy("claude-ide.base.window")

local M = {}

local PREFIX = "claude://grep/"
local TRANSCRIPT = "claude-transcript"

---@class claude-ide.sessions.Place
---@field file string
---@field line integer
---@field match claude-ide.transcript.Match

---@type table<string, claude-ide.sessions.Place> by buffer name
local places = {}
---@type table<string, table<string, integer>> numbers of hits in a line, by the name without number
local numbers = {}
local listening = false
---@type integer? window that was just created for the jump
local new_window

local function is_place(buf)
  return vim.startswith(vim.api.nvim_buf_get_name(buf), PREFIX)
end

---A window of the tab page with a transcript. Quickfix would create another window instead.
local function transcript_window()
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == TRANSCRIPT
  end)
end

---Removes the place's buffer from the window that it was entered in.
---@param made boolean the window was created for it
---@return integer win window for the transcript
local function vacate(win, made)
  local other = made and transcript_window()
  if other then
    window.close_all({ win })
    return other
  end
  local before = vim.api.nvim_win_call(win, function()
    return vim.fn.bufnr("#")
  end)
  if before > 0 and vim.api.nvim_buf_is_loaded(before) and not is_place(before) then
    vim.api.nvim_win_set_buf(win, before)
  end
  return win
end

local function go(win, made, place)
  if not vim.api.nvim_win_is_valid(win) then
    win, made = vim.api.nvim_get_current_win(), false
  elseif is_place(vim.api.nvim_win_get_buf(win)) then
    win = vacate(win, made)
  end
  window.enter(win)
  bus.emit("transcript_wanted", { file = place.file }, { line = place.line, match = place.match, win = win })
end

---@param event { buf: integer, match: string }
local function enter(event)
  local buf = event.buf
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "unload", false
  buffer_marks.mark(buf, "place")
  local place = places[vim.api.nvim_buf_get_name(buf)]
  if not place then
    notice.warn("This match is from a search in another Neovim.")
    return
  end
  local win = vim.api.nvim_get_current_win()
  local made = win == new_window
  -- Not during the jump: Neovim still sets the cursor.
  vim.schedule(function()
    if vim.api.nvim_buf_is_valid(buf) then
      vim.bo[buf].buflisted = false
    end
    go(win, made, place)
  end)
end

local function listen()
  if listening then
    return
  end
  listening = true
  local group = vim.api.nvim_create_augroup("claude-ide.sessions.hit_buffer", { clear = true })
  vim.api.nvim_create_autocmd("BufReadCmd", {
    group = group,
    pattern = PREFIX .. "*",
    callback = enter,
    desc = "Claude Code: show the transcript at the match",
  })
  vim.api.nvim_create_autocmd("WinNew", {
    group = group,
    callback = function()
      new_window = vim.api.nvim_get_current_win()
      vim.schedule(function()
        new_window = nil
      end)
    end,
    desc = "Claude Code: note the windows that a list opens for a match",
  })
end

---@param hit claude-ide.sessions.Hit
---@param alike string distinguishes hits of one line, except for `nth`
---@param nth integer which of identical hits, from 1
---@return integer buf
function M.buffer(hit, alike, nth)
  listen()
  local name = ("%s%s/%d"):format(PREFIX, hit.agent or hit.session, hit.line)
  local own, key = numbers[name] or { count = 0 }, ("%d %s"):format(nth, alike)
  numbers[name] = own
  if not own[key] then
    own.count = own.count + 1
    own[key] = own.count
  end
  name = own[key] == 1 and name or ("%s/%d"):format(name, own[key])
  places[name] = {
    file = hit.file,
    line = hit.line,
    match = {
      role = hit.role,
      text = hit.text,
      start = hit.start,
      stop = hit["end"],
      before = hit.before[#hit.before],
      after = hit.after[1],
      nth = nth,
    },
  }
  return vim.fn.bufadd(name)
end

return M
