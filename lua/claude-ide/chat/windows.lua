-- A chat's windows: the transcript, and the prompt below it. They are opened and closed together.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.transcript.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local config = lazy("claude-ide.config")
local file_window = lazy("claude-ide.ui.file_window")
local interrupt = lazy("claude-ide.chat.interrupt")
local interrupt_key = lazy("claude-ide.ui.interrupt_key")
local open_views = lazy("claude-ide.transcript.open_views")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local safely = lazy("claude-ide.base.safely")
local split = lazy("claude-ide.ui.split")
local transcript = lazy("claude-ide.transcript")
local transcript_winbar = lazy("claude-ide.transcript.winbar")
local ui_winbar = lazy("claude-ide.ui.winbar")
local window = lazy("claude-ide.base.window")
local window_options = lazy("claude-ide.ui.window_options")
local zen_mode = lazy("claude-ide.ui.zen_mode")

local M = {}

---@class claude-ide.chat.Shown
---@field chat claude-ide.chat.Chat
---@field prompt integer buffer
---@field view? claude-ide.transcript.View
---@field waiting? integer the window for its transcript
---@field origin? integer the user's previous window
---@field is_idle? boolean at the last redraw

---Minimum size of a chat and of the rest.
local LEAST = { columns = 30, lines = 10 }
---Minimum lines of the two windows with their winbars, if there is room.
local LEAST_TRANSCRIPT, LEAST_PROMPT = 6, 2
---Lines of an almost empty prompt, with its winbar.
local SMALL_PROMPT = 3

---@return integer buf for a window before its transcript exists
local function blank()
  return own_buffer.create({ bo = { bufhidden = "wipe" } })
end

---@return claude-ide.ui.Side
local function wanted_side()
  local options = config.get().terminal
  return { side = options.side, size = options.size, least = LEAST }
end

---@param buf? integer
---@return integer? win of this tab page
local function window_of(buf)
  return buf and window.here(buf)[1]
end

local function dress_prompt(win)
  local wo = window_options.bare(win)
  wo.wrap, wo.linebreak, wo.foldenable, wo.conceallevel = true, true, false, 0
  ui_winbar.hold(win, "%{%v:lua.require'claude-ide.chat.prompt_bar'.text()%}")
end

---Moves a file that was opened in the prompt's window (`<C-o>`, `gf`, `:edit`) to a file window, if there is one: the prompt's is six lines
---high.
---@param win integer
---@param buf integer the prompt
local function give_file_away(win, buf)
  local valid = vim.api.nvim_win_is_valid(win) and vim.api.nvim_buf_is_loaded(buf)
  local file = valid and vim.api.nvim_win_get_buf(win) or buf
  if file == buf or vim.bo[file].buftype ~= "" or vim.api.nvim_buf_get_name(file) == "" then
    return
  end
  vim.wo[win][0].winfixbuf = true -- excludes this window
  local place = file_window.choose(file, vim.api.nvim_win_get_tabpage(win))
  vim.wo[win][0].winfixbuf = false
  if not place then
    return
  end
  local is_here, cursor = vim.api.nvim_get_current_win() == win, vim.api.nvim_win_get_cursor(win)
  vim.api.nvim_win_set_buf(place, file)
  pcall(vim.api.nvim_win_set_cursor, place, cursor)
  vim.api.nvim_win_set_buf(win, buf)
  if is_here then
    window.enter(place)
  end
end

---@param buf integer a prompt
local function keep_window(buf)
  local group = vim.api.nvim_create_augroup("claude-ide.chat.windows", { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  vim.api.nvim_create_autocmd("BufWinLeave", {
    group = group,
    buffer = buf,
    desc = "Claude Code: keep other files out of a prompt's window",
    callback = function()
      local win = vim.api.nvim_get_current_win()
      if vim.api.nvim_win_get_buf(win) ~= buf then
        return -- the window is being closed from another one
      end
      vim.schedule(function()
        safely.wrap("give a file another window", give_file_away)(win, buf)
      end)
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: fit the height of a prompt",
    callback = safely.wrap("fit the height of a prompt", function()
      vim.tbl_map(split.fit, window.here(buf))
    end),
  })
end

---The lines of the text plus one, up to the option.
---@param shown claude-ide.chat.Shown
---@param above integer the transcript's window, which gives it room
---@return claude-ide.ui.Side
local function room_of_prompt(shown, above)
  local buf = shown.prompt
  return {
    side = "bottom",
    beside = above,
    size = function(win)
      local is_open = vim.api.nvim_win_get_buf(win) == buf
      local rows = is_open and vim.api.nvim_win_text_height(win, {}).all or vim.api.nvim_buf_line_count(buf)
      return math.min(math.max(rows + 2, SMALL_PROMPT), config.get().chat.prompt_height)
    end,
    least = { columns = 1, lines = LEAST_PROMPT },
    rest = LEAST_TRANSCRIPT + 1, -- a status line between them
    fixed = true,
  }
end

---Opens a window for the transcript: above the prompt if that is open, else beside all windows.
---@param shown claude-ide.chat.Shown
---@return integer win
local function open_transcript(shown)
  local prompt = window_of(shown.prompt)
  if prompt and vim.api.nvim_win_get_height(prompt) >= LEAST.lines then
    local win = split.keeping_sizes(function()
      return vim.api.nvim_open_win(blank(), false, { win = prompt, split = "above" })
    end)
    split.keep(win, wanted_side())
    return win
  elseif prompt then
    split.close({ prompt }, false) -- it is opened again, below
  end
  return split.open(blank(), wanted_side())
end

---Creates the transcript of a chat whose prompt was shown first.
---@param shown claude-ide.chat.Shown
function M.fill(shown)
  local win = shown.waiting
  shown.waiting = nil
  if win and vim.api.nvim_win_is_valid(win) then
    shown.view = transcript.show_in(shown.chat.source, win)
    interrupt.map(shown.chat, shown.view.buf, { "n", "x" })
  end
end

---Shows a chat in the current tab page, and focuses its prompt unless that would catch keys meant for another window.
---@param shown claude-ide.chat.Shown
function M.show(shown)
  local may_focus = file_window.may_focus()
  M.fill(shown)
  local view = shown.view
  local win = window_of(view and view.buf)
  if not win then
    win = open_transcript(shown)
    if view and vim.api.nvim_buf_is_valid(view.buf) then
      vim.api.nvim_win_set_buf(win, view.buf)
    else
      shown.view, shown.waiting = nil, win
    end
  end
  local prompt, room = window_of(shown.prompt), room_of_prompt(shown, win)
  if prompt then
    split.keep(prompt, room)
  else
    prompt = split.open(shown.prompt, room)
    dress_prompt(prompt)
    keep_window(shown.prompt)
  end
  if may_focus then
    zen_mode.keep("prompt " .. shown.prompt, {
      is_there = function()
        return vim.api.nvim_get_current_buf() == shown.prompt
      end,
      enter = function()
        pcall(window.enter, prompt)
      end,
    })
    local current = vim.api.nvim_get_current_win()
    if current ~= prompt and current ~= win then
      shown.origin = current
    end
    window.enter(prompt)
  end
end

---Closes a chat's windows in this tab page; the chat continues.
---@param shown claude-ide.chat.Shown
function M.hide(shown)
  local origin, waiting = shown.origin, shown.waiting
  shown.waiting = nil -- otherwise its transcript would still be created
  local wins = {} ---@type integer[]
  wins[1] = window_of(shown.prompt)
  wins[#wins + 1] = window_of(shown.view and shown.view.buf) or waiting
  split.close(wins, false)
  if origin and vim.api.nvim_win_is_valid(origin) and file_window.may_focus() then
    window.enter(origin)
  end
end

---Closes the windows of an ended chat.
---@param shown claude-ide.chat.Shown
function M.close(shown)
  M.hide(shown)
  if shown.view then
    interrupt_key.off(shown.view.buf)
  end
end

---@param shown claude-ide.chat.Shown
---@return boolean
function M.is_shown(shown)
  return window_of(shown.prompt) ~= nil or window_of(shown.view and shown.view.buf) ~= nil
end

---Whether it fits here, with room for other windows besides the chats.
---@param shown? claude-ide.chat.Shown nil: a terminal
---@return boolean
function M.has_room(shown)
  local view, prompt = shown and shown.view, shown and shown.prompt
  return window_of(view and view.buf) ~= nil
    or split.has_room(wanted_side(), function(win)
      local buf = vim.api.nvim_win_get_buf(win)
      local kind, of_buf = buffer_marks.kind(buf), open_views.of_buffer(buf)
      local is_chat = of_buf ~= nil and of_buf.source.is_chat == true
      return (kind == "terminal" or kind == "prompt" or is_chat) and buf ~= prompt
    end)
end

---Redraws its winbar.
---@param shown claude-ide.chat.Shown
function M.refresh(shown)
  local view, was_idle = shown.view, shown.is_idle
  shown.is_idle = shown.chat.state == "idle"
  if not view then
    return
  elseif shown.is_idle and not was_idle and shown.chat.has_spoken then
    buffer.learn_title(view) -- the CLI has written it now
  end
  transcript_winbar.refresh(view)
end

return M
