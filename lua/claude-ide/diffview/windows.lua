-- A list beside a text, and in most layouts another text beside that one, in a tab page of its own: where its windows stand.
-- What they show is up to whoever opens it. Nothing here wakes an autocommand up.
local M = {}

---@class claude-ide.diffview.ListedPair
---@field wins table<string, integer> "list", and those of the two names; the one beside not in every layout
---@field text string the name of the window that is always there
---@field beside string the name of the other one
---@field layout claude-ide.diffview.LayoutName
---@field one_window? boolean what is shown now has no window beside it in any layout
---@field tab integer
---@field screen claude-ide.ui.Screen what to go back to

local silently = require("claude-ide.ui.quietly").run

---@param name claude-ide.diffview.PlaceName
---@return claude-ide.diffview.Place
function M.place(name)
  return require("claude-ide.diffview.place." .. name)
end

---The place of the next diff.
---@return claude-ide.diffview.PlaceName
function M.preferred_place()
  return require("claude-ide.config").get().diff.open_in
end

---@param frame claude-ide.diffview.ListedPair
---@return boolean
function M.is_current(frame)
  return vim.api.nvim_get_current_tabpage() == frame.tab
end

---Whether none of its windows was closed.
---@param frame claude-ide.diffview.ListedPair
---@return boolean
function M.stands(frame)
  return vim.iter(vim.tbl_values(frame.wins)):all(vim.api.nvim_win_is_valid)
end

---Makes the window beside the text, if the layout has one and there is room for it.
---@param frame claude-ide.diffview.ListedPair
---@param buf integer
local function open_beside(frame, buf)
  local direction = require("claude-ide.diffview.layout").get(frame.layout).now
  local ok, win = pcall(function()
    return direction
      and not frame.one_window
      and vim.api.nvim_open_win(buf, false, { split = direction, win = frame.wins[frame.text] })
  end)
  if not ok then
    require("claude-ide.log").debug("no room for the %s layout: %s", frame.layout, win)
    frame.layout = "unified"
  end
  frame.wins[frame.beside] = ok and win or nil
end

---Gives the windows their sizes: the list what it needs, the texts half of the rest each.
---@param frame claude-ide.diffview.ListedPair
---@param list_width integer
function M.fit(frame, list_width)
  vim.api.nvim_win_set_width(frame.wins.list, list_width)
  local beside, direction =
    frame.wins[frame.beside], require("claude-ide.diffview.layout").get(frame.layout).now
  if beside and direction then
    require("claude-ide.diffview.place").even(beside, frame.wins[frame.text], direction)
  end
end

---Makes the window beside the text anew, as the layout wants it.
---@param frame claude-ide.diffview.ListedPair
---@param buf integer
---@param list_width integer
local function arrange(frame, buf, list_width)
  local beside = frame.wins[frame.beside]
  frame.wins[frame.beside] = nil
  require("claude-ide.diffview.place").keeping_sizes(function()
    require("claude-ide.window").close(beside)
    open_beside(frame, buf)
    return true
  end)
  if frame.wins[frame.beside] then
    require("claude-ide.ui.window_look").window(frame.wins[frame.beside])
  end
  M.fit(frame, list_width)
end

---Texts are about to be shown that can, or cannot, stand beside each other.
---@param frame claude-ide.diffview.ListedPair
---@param one_window boolean
---@param buf integer of the text beside
---@param list_width integer
function M.set_one_window(frame, one_window, buf, list_width)
  if (frame.one_window or false) ~= one_window then
    frame.one_window = one_window
    if vim.api.nvim_get_current_win() == frame.wins[frame.beside] then
      vim.api.nvim_set_current_win(frame.wins[frame.text])
    end
    arrange(frame, buf, list_width)
  end
end

---@param win integer
local function dress_list(win)
  require("claude-ide.ui.window_look").window(win)
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.statuscolumn, wo.wrap, wo.cursorline, wo.list, wo.spell = "", false, true, false, false
  wo.colorcolumn, wo.winfixwidth = "", true
end

---Opens one, in the layout that the user prefers.
---@param names { text: string, beside: string }
---@param list integer buffer
---@param buf integer for both texts, until there are others
---@param list_width integer
---@return claude-ide.diffview.ListedPair
function M.open(names, list, buf, list_width)
  require("claude-ide.ui.highlights").define_shared()
  ---@type claude-ide.diffview.ListedPair
  ---@diagnostic disable-next-line: missing-fields -- made below
  local frame = {
    text = names.text,
    beside = names.beside,
    wins = {},
    layout = require("claude-ide.diffview.layout").preferred(),
    screen = require("claude-ide.ui.restore").remember(),
  }
  return silently(function()
    vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(list))
    frame.tab = vim.api.nvim_get_current_tabpage()
    frame.wins.list = vim.api.nvim_get_current_win()
    frame.wins[frame.text] = vim.api.nvim_open_win(buf, false, { split = "right", win = frame.wins.list })
    dress_list(frame.wins.list)
    require("claude-ide.diffview.place").keeping_sizes(function()
      vim.api.nvim_win_set_width(frame.wins.list, list_width)
      open_beside(frame, buf)
      return true
    end)
    M.fit(frame, list_width)
    return frame
  end)
end

---@param frame claude-ide.diffview.ListedPair
---@param bars table<string, fun(width: integer): string> by window
function M.set_winbars(frame, bars)
  for name, bar in pairs(bars) do
    local win = frame.wins[name]
    if win then
      require("claude-ide.ui.winbar").hold(win, bar(vim.api.nvim_win_get_width(win)))
    end
  end
end

---Puts the cursor of the list on what is shown.
---@param frame claude-ide.diffview.ListedPair
---@param index integer
function M.point_at(frame, index)
  if vim.api.nvim_win_get_cursor(frame.wins.list)[1] ~= index then
    vim.api.nvim_win_set_cursor(frame.wins.list, { index, 0 })
  end
end

---@class claude-ide.diffview.ListedPair.Turn
---@field beside integer buffer of the text beside
---@field list_width integer
---@field leave? fun(saved: table) the user is in the window beside, which goes: changes where they will be in the text
---@field stop fun() comparing
---@field start fun() comparing anew

---Turns the windows into those of another layout. Where the user is in the text stays.
---@param frame claude-ide.diffview.ListedPair
---@param name claude-ide.diffview.LayoutName
---@param turn claude-ide.diffview.ListedPair.Turn
function M.turn(frame, name, turn)
  local text, beside = frame.wins[frame.text], frame.wins[frame.beside]
  silently(function()
    local saved = vim.api.nvim_win_call(text, vim.fn.winsaveview)
    if beside and vim.api.nvim_get_current_win() == beside then
      if turn.leave then
        turn.leave(saved)
      end
      vim.api.nvim_set_current_win(text)
    end
    turn.stop()
    frame.layout = name
    arrange(frame, turn.beside, turn.list_width)
    turn.start()
    saved.topfill = nil
    vim.api.nvim_win_call(text, function()
      vim.fn.winrestview(saved)
      vim.cmd("normal! zv")
    end)
    return true
  end)
end

---Takes it off the screen; the user goes back to where they came from. Where there is no window to go back to, that of the
---text stays.
---@param frame claude-ide.diffview.ListedPair
---@param is_ours fun(buf: integer): boolean whether that may not be left on the screen
---@param delete fun() the buffers
function M.close(frame, is_ours, delete)
  require("claude-ide.ui.key_list").close()
  local restore = require("claude-ide.ui.restore")
  local here = not vim.api.nvim_tabpage_is_valid(frame.tab) or M.is_current(frame)
  local function leave()
    local wins = vim.tbl_filter(vim.api.nvim_win_is_valid, vim.tbl_values(frame.wins))
    if here then
      restore.go(frame.screen)
    end
    if #vim.api.nvim_list_tabpages() == 1 and #wins == #vim.api.nvim_tabpage_list_wins(0) then
      local text = frame.wins[frame.text]
      local stays = vim.api.nvim_win_is_valid(text) and text or wins[1]
      wins = vim.tbl_filter(function(win)
        return win ~= stays
      end, wins)
      if stays and is_ours(vim.api.nvim_win_get_buf(stays)) then
        vim.wo[stays][0].winfixbuf = false
        vim.api.nvim_win_set_buf(stays, vim.api.nvim_create_buf(true, false))
      end
    end
    require("claude-ide.window").close_all(wins)
  end
  silently(function()
    require("claude-ide.diffview.place").leaving(frame, leave)
    return true
  end)
  delete()
  if here then
    silently(function()
      restore.settle(frame.screen)
      return true
    end)
  end
end

return M
