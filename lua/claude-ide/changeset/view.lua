-- A changeset on the screen, in a tab page of its own: the list of its files, and the two texts of the chosen one.
-- Knows nothing of answers: what a key decides is handed to the verbs that it was opened with.
local M = {}

---@class claude-ide.changeset.View
---@field changeset claude-ide.Changeset
---@field entries claude-ide.changeset.Entry[]
---@field shown integer index of the file on the screen
---@field list integer buffer
---@field wins table<"list"|claude-ide.ui.Side, integer> without `now` in a layout that draws it within the proposal
---@field layout claude-ide.ui.LayoutName
---@field pair? claude-ide.compare.Pair
---@field tab integer
---@field screen claude-ide.ui.Screen what to go back to
---@field verbs table<claude-ide.changeset.Verb, fun()>
---@field group integer
---@field gone fun() the person has closed a window of it
---@field closing boolean

---@generic T
---@param fn fun(): T
---@return T
local function silently(fn)
  return require("claude-ide.ui.quietly").run(fn)
end

---@return table
local function texts()
  return require("claude-ide.changeset.texts")
end

---@param view claude-ide.changeset.View
---@return boolean
function M.is_current(view)
  return vim.api.nvim_get_current_tabpage() == view.tab
end

---@param view claude-ide.changeset.View
---@return boolean
local function stands(view)
  return vim.iter(vim.tbl_values(view.wins)):all(vim.api.nvim_win_is_valid)
end

---The file that is shown.
---@param view claude-ide.changeset.View
---@return claude-ide.changeset.Entry
function M.current(view)
  return view.entries[view.shown]
end

---@param view claude-ide.changeset.View
---@return integer columns that its list needs
local function list_width(view)
  return require("claude-ide.changeset.listing").width(view.entries)
end

---@param view claude-ide.changeset.View
local function set_winbars(view)
  local winbar, hold = require("claude-ide.changeset.winbar"), require("claude-ide.ui.winbar").hold
  local entry = M.current(view)
  local function width(side)
    return vim.api.nvim_win_get_width(view.wins[side])
  end
  hold(view.wins.list, winbar.of_list(view.changeset, width("list")))
  local left, is_alone = texts().left(entry), view.wins.now == nil
  hold(view.wins.proposal, winbar.of_proposal(entry, left, is_alone, width("proposal")))
  if view.wins.now then
    hold(view.wins.now, winbar.of_now(entry, width("now")))
  end
end

---@param view claude-ide.changeset.View
local function render_list(view)
  require("claude-ide.changeset.listing").render(view.list, view.entries, view.shown)
  if vim.api.nvim_win_get_cursor(view.wins.list)[1] ~= view.shown then
    vim.api.nvim_win_set_cursor(view.wins.list, { view.shown, 0 })
  end
end

---Shows what is true now.
---@param view claude-ide.changeset.View
function M.refresh(view)
  if view.closing or not stands(view) then
    return
  end
  silently(function()
    if view.pair then
      require("claude-ide.compare.pair").refresh(view.pair)
      require("claude-ide.diff.choice").show_dropped(view.pair.hunks --[[@as claude-ide.compare.Hunks]])
    end
    render_list(view)
    set_winbars(view)
    return true
  end)
end

---@param view claude-ide.changeset.View
local function fit(view)
  vim.api.nvim_win_set_width(view.wins.list, list_width(view))
  local direction = require("claude-ide.ui.layout").get(view.layout).now
  if view.wins.now and direction then
    require("claude-ide.ui.place").even(view.wins.now, view.wins.proposal, direction)
  end
end

---Makes the window of the present text, if the layout has one and there is room for it.
---@param view claude-ide.changeset.View
---@param buf integer
local function open_now(view, buf)
  local direction = require("claude-ide.ui.layout").get(view.layout).now
  local ok, win = pcall(function()
    return direction and vim.api.nvim_open_win(buf, false, { split = direction, win = view.wins.proposal })
  end)
  if not ok then
    require("claude-ide.log").debug("no room for the %s layout: %s", view.layout, win)
    view.layout = "unified"
  end
  view.wins.now = ok and win or nil
end

---@param view claude-ide.changeset.View
local function compare(view)
  local entry = M.current(view)
  local hunks = entry.hunks --[[@as claude-ide.compare.Hunks]]
  local bytes = #table.concat(hunks.old) + #table.concat(hunks.proposed)
  local plain = entry.file.after == nil
    or hunks.format.empty
    or require("claude-ide.compare.shape").is_emptied(hunks)
    or require("claude-ide.compare.marks").needed(hunks.list, #hunks.old + #hunks.proposed, bytes)
  view.pair = {
    bufs = entry.bufs --[[@as table]],
    wins = { now = view.wins.now, proposal = view.wins.proposal },
    hunks = hunks,
    plain = plain,
  }
  require("claude-ide.compare.pair").compare(view.pair)
end

---@param view claude-ide.changeset.View
local function stop_comparing(view)
  if view.pair then
    require("claude-ide.compare.pair").end_comparing(view.pair)
    view.pair = nil
  end
end

---@param win integer
---@param buf integer
local function put(win, buf)
  vim.wo[win][0].winfixbuf = false
  vim.api.nvim_win_set_buf(win, buf)
  require("claude-ide.ui.window_look").window(win)
end

---@param view claude-ide.changeset.View
local function show_prepared(view)
  if view.closing or not stands(view) then
    return
  end
  local bufs = M.current(view).bufs --[[@as table<claude-ide.ui.Side, integer>]]
  silently(function()
    stop_comparing(view)
    put(view.wins.proposal, bufs.proposal)
    if view.wins.now then
      put(view.wins.now, bufs.now)
    end
    compare(view)
    require("claude-ide.compare.pair").go_to_first_change(view.pair --[[@as claude-ide.compare.Pair]])
    return true
  end)
  M.refresh(view)
end

---@param view claude-ide.changeset.View
---@return boolean
local function may_decide(view)
  return require("claude-ide.diff.seen").takes_key(view.list)
end

---Shows another file of the list.
---@param view claude-ide.changeset.View
---@param index integer
function M.show(view, index)
  local entry = view.entries[index]
  if not entry or view.closing or not stands(view) or view.shown == index and view.pair then
    return
  end
  view.shown = index
  local is_new = entry.bufs == nil
  texts().prepare(view.changeset, entry, function()
    if M.current(view) == entry then
      M.refresh(view)
    end
  end, function()
    if is_new then
      local bufs = entry.bufs --[[@as table<claude-ide.ui.Side, integer>]]
      for _, buf in pairs(bufs) do
        require("claude-ide.changeset.keys").map(buf, view.verbs, function()
          return may_decide(view)
        end)
      end
      require("claude-ide.changeset.events").guard(view, bufs.proposal)
    end
    if M.current(view) == entry then
      show_prepared(view)
    end
  end)
end

---@param view claude-ide.changeset.View
---@param step 1|-1
function M.go(view, step)
  M.show(view, (view.shown - 1 + step) % #view.entries + 1)
end

---Shows the texts in the next layout, and the diffs that come after it.
---@param view claude-ide.changeset.View
---@param name? claude-ide.ui.LayoutName default: the next one
function M.switch(view, name)
  local layout = require("claude-ide.ui.layout")
  if not view.pair or view.closing or not vim.api.nvim_win_is_valid(view.wins.proposal) then
    return
  end
  if not name then
    name = layout.after(view.layout)
    layout.prefer(name)
  end
  local now = view.wins.now
  silently(function()
    local saved = vim.api.nvim_win_call(view.wins.proposal, vim.fn.winsaveview)
    if now and vim.api.nvim_get_current_win() == now then
      vim.api.nvim_set_current_win(view.wins.proposal)
    end
    stop_comparing(view)
    view.layout, view.wins.now = name, nil
    require("claude-ide.ui.place").keeping_sizes(function()
      if now and vim.api.nvim_win_is_valid(now) then
        vim.api.nvim_win_close(now, true)
      end
      open_now(view, M.current(view).bufs.now)
      return true
    end)
    if view.wins.now then
      require("claude-ide.ui.window_look").window(view.wins.now)
    end
    fit(view)
    compare(view)
    saved.topfill = nil
    vim.api.nvim_win_call(view.wins.proposal, function()
      vim.fn.winrestview(saved)
      vim.cmd("normal! zv")
    end)
    require("claude-ide.compare.pair").align(view.pair)
    return true
  end)
  M.refresh(view)
end

---The screen, or a window, has another size.
---@param view claude-ide.changeset.View
---@param screen boolean
function M.resized(view, screen)
  if not view.closing and stands(view) and M.is_current(view) then
    silently(function()
      if screen then
        fit(view)
      end
      return true
    end)
    M.refresh(view)
  end
end

---@param list integer buffer
---@param win integer
local function dress_list(list, win)
  require("claude-ide.ui.window_look").window(win)
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.statuscolumn, wo.wrap, wo.cursorline, wo.list, wo.spell = "", false, true, false, false
  wo.colorcolumn, wo.winfixwidth = "", true
  require("claude-ide.diff.seen").watch(list)
end

---@param changeset claude-ide.Changeset
---@param verbs table<claude-ide.changeset.Verb, fun()>
---@param gone fun()
---@param focus boolean go there
---@return claude-ide.changeset.View
function M.open(changeset, verbs, gone, focus)
  require("claude-ide.ui.highlights").define_shared()
  local restore = require("claude-ide.ui.restore")
  ---@type claude-ide.changeset.View
  ---@diagnostic disable-next-line: missing-fields -- made below
  local view = {
    changeset = changeset,
    entries = changeset.entries,
    shown = 1,
    list = require("claude-ide.review.list").make(),
    wins = {},
    layout = require("claude-ide.ui.layout").preferred(),
    screen = restore.remember(),
    verbs = verbs,
    gone = gone,
    closing = false,
  }
  silently(function()
    local blank = vim.api.nvim_create_buf(false, true)
    vim.bo[blank].bufhidden = "wipe"
    vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(view.list))
    view.tab = vim.api.nvim_get_current_tabpage()
    view.wins.list = vim.api.nvim_get_current_win()
    view.wins.proposal = vim.api.nvim_open_win(blank, false, { split = "right", win = view.wins.list })
    dress_list(view.list, view.wins.list)
    render_list(view)
    require("claude-ide.ui.place").keeping_sizes(function()
      vim.api.nvim_win_set_width(view.wins.list, list_width(view))
      open_now(view, blank)
      return true
    end)
    fit(view)
    return true
  end)
  require("claude-ide.changeset.keys").map(view.list, verbs, function()
    return may_decide(view)
  end)
  require("claude-ide.changeset.events").attach(view, {
    alone = function()
      M.switch(view, "unified")
    end,
    resized = function(screen)
      M.resized(view, screen)
    end,
    show = function(index)
      M.show(view, index)
    end,
  })
  M.show(view, 1)
  silently(function()
    vim.api.nvim_set_current_win(view.wins.proposal)
    if not focus then
      restore.go(view.screen)
    end
    return true
  end)
  return view
end

---@param view claude-ide.changeset.View
function M.focus(view)
  if vim.api.nvim_win_is_valid(view.wins.proposal) then
    vim.api.nvim_set_current_tabpage(view.tab)
    vim.api.nvim_set_current_win(view.wins.proposal)
  end
end

---Takes it off the screen; the person goes back to where they came from.
---@param view claude-ide.changeset.View
function M.close(view)
  view.closing = true
  pcall(vim.api.nvim_del_augroup_by_id, view.group)
  require("claude-ide.ui.key_list").close()
  require("claude-ide.diff.seen").forget(view.list)
  local restore = require("claude-ide.ui.restore")
  local here = not vim.api.nvim_tabpage_is_valid(view.tab) or M.is_current(view)
  silently(function()
    stop_comparing(view)
    local wins = vim.tbl_filter(vim.api.nvim_win_is_valid, vim.tbl_values(view.wins))
    for _, win in ipairs(wins) do
      require("claude-ide.ui.winbar").release(win)
    end
    if here then
      restore.go(view.screen)
    end
    if #vim.api.nvim_list_tabpages() == 1 and #wins == #vim.api.nvim_tabpage_list_wins(0) then
      local stays = table.remove(wins)
      if stays then
        vim.wo[stays][0].winfixbuf = false
        vim.api.nvim_win_set_buf(stays, vim.api.nvim_create_buf(true, false))
      end
    end
    require("claude-ide.ui.file_window").close_all(wins)
    return true
  end)
  for _, entry in ipairs(view.entries) do
    texts().release(entry)
  end
  require("claude-ide.ui.own_buffer").delete(view.list)
  if here then
    silently(function()
      restore.settle(view.screen)
      return true
    end)
  end
end

return M
