-- A chat on the screen: its transcript, and below it the window to write in. They come and go together.
local M = {}

---@class claude-ide.chat.Shown
---@field chat claude-ide.chat.Chat
---@field prompt integer buffer
---@field view? claude-ide.transcript.View
---@field waiting? integer the window that is to show its transcript
---@field origin? integer the window the person came from

local SPLIT = { left = "left", right = "right", top = "above", bottom = "below" }
local LEAST_COLUMNS, LEAST_LINES = 30, 10

---@return integer win
local function open_beside()
  local options = require("claude-ide.config").get().terminal
  local is_vertical = options.side == "left" or options.side == "right"
  local total = is_vertical and vim.o.columns or vim.o.lines
  local size = options.size < 1 and math.floor(total * options.size + 0.5) or math.floor(options.size)
  local least = is_vertical and LEAST_COLUMNS or LEAST_LINES
  size = math.max(math.min(size, total - least), math.min(least, math.floor(total / 2)), 1)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  return vim.api.nvim_open_win(buf, false, {
    win = -1,
    split = SPLIT[options.side],
    width = is_vertical and size or nil,
    height = not is_vertical and size or nil,
  })
end

---@param buf? integer
---@return integer? win of this tab page
local function window_of(buf)
  for _, win in ipairs(buf and vim.fn.win_findbuf(buf) or {}) do
    if vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      return win
    end
  end
end

---@param win integer
local function dress_prompt(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.number, wo.relativenumber = true, true, false, false
  wo.signcolumn, wo.foldcolumn, wo.foldenable, wo.list, wo.colorcolumn = "no", "0", false, false, ""
  wo.statuscolumn, wo.winfixheight, wo.conceallevel = "", true, 0
  require("claude-ide.ui.winbar").hold(win, "%{%v:lua.require'claude-ide.chat.prompt_bar'.text()%}")
end

---@param shown claude-ide.chat.Shown
---@param above integer the transcript's window
---@return integer win
local function open_prompt(shown, above)
  local height = require("claude-ide.config").get().chat.prompt_height
  height = math.max(math.min(height, vim.api.nvim_win_get_height(above) - 4), 1)
  local win = vim.api.nvim_open_win(shown.prompt, false, { win = above, split = "below", height = height })
  dress_prompt(win)
  return win
end

---Makes the transcript of a chat that was shown without it, so that the prompt was there at once.
---@param shown claude-ide.chat.Shown
function M.fill(shown)
  local win = shown.waiting
  shown.waiting = nil
  if win and vim.api.nvim_win_is_valid(win) then
    shown.view = require("claude-ide.transcript").show_in(shown.chat.source, win)
  end
end

---Shows a chat in the current tab page and goes to its prompt, where no typing can be hit by that.
---@param shown claude-ide.chat.Shown
function M.show(shown)
  local may_focus = require("claude-ide.ui.file_window").may_focus()
  M.fill(shown)
  local view = shown.view
  local win = window_of(view and view.buf)
  if not win then
    win = open_beside()
    if view and vim.api.nvim_buf_is_valid(view.buf) then
      vim.api.nvim_win_set_buf(win, view.buf)
    else
      shown.view, shown.waiting = nil, win
    end
  end
  local prompt = window_of(shown.prompt) or open_prompt(shown, win)
  if may_focus then
    local current = vim.api.nvim_get_current_win()
    if current ~= prompt and current ~= win then
      shown.origin = current
    end
    vim.api.nvim_set_current_win(prompt)
  end
end

---Takes the windows of a chat away, here. It goes on.
---@param shown claude-ide.chat.Shown
function M.hide(shown)
  local origin = shown.origin
  for _, buf in ipairs({ shown.prompt, shown.view and shown.view.buf }) do
    local win = window_of(buf)
    if win and not pcall(vim.api.nvim_win_close, win, false) then
      require("claude-ide.terminal.window").vacate(win)
    end
  end
  if origin and vim.api.nvim_win_is_valid(origin) and require("claude-ide.ui.file_window").may_focus() then
    vim.api.nvim_set_current_win(origin)
  end
end

---@param shown claude-ide.chat.Shown
---@return boolean
function M.is_shown(shown)
  return window_of(shown.prompt) ~= nil or window_of(shown.view and shown.view.buf) ~= nil
end

---Draws what is said about it anew.
---@param shown claude-ide.chat.Shown
function M.refresh(shown)
  if shown.view then
    require("claude-ide.transcript.winbar").refresh(shown.view)
  end
end

return M
