-- A changeset on the screen, in a tab page of its own: the list of its files, and the two texts of the chosen one.
-- Knows nothing of answers: what a key decides is handed to the verbs that it was opened with.
local M = {}

local listed_pair = require("claude-ide.diffview.windows")
local silently = require("claude-ide.ui.quietly").run

---@class claude-ide.changeset.View: claude-ide.diffview.ListedPair
---@field changeset claude-ide.Changeset
---@field entries claude-ide.changeset.Entry[]
---@field shown integer index of the file on the screen
---@field list integer buffer
---@field wins table<"list"|claude-ide.diffview.Side, integer> without `now` in a layout that draws it within the proposal
---@field pair? claude-ide.diffview.Pair
---@field verbs table<claude-ide.changeset.Verb, fun()>
---@field group integer
---@field gone fun() the user has closed a window of it
---@field closing boolean

---@return table
local function texts()
  return require("claude-ide.changeset.texts")
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
  local winbar, entry = require("claude-ide.changeset.winbar"), M.current(view)
  local left, is_alone = texts().left(entry), view.wins.now == nil
  listed_pair.set_winbars(view, {
    list = function(width)
      return winbar.of_list(view.changeset, width)
    end,
    proposal = function(width)
      return winbar.of_proposal(entry, left, is_alone, width)
    end,
    now = function(width)
      return winbar.of_now(entry, width)
    end,
  })
end

---@param view claude-ide.changeset.View
local function render_list(view)
  require("claude-ide.changeset.listing").render(view.list, view.entries, view.shown)
  listed_pair.point_at(view, view.shown)
end

---Shows what is true now.
---@param view claude-ide.changeset.View
function M.refresh(view)
  if view.closing or not listed_pair.stands(view) then
    return
  end
  silently(function()
    if view.pair then
      require("claude-ide.diffview.pair").refresh(view.pair)
      require("claude-ide.diff.choice").show_dropped(view.pair.hunks --[[@as claude-ide.diffview.Hunks]])
    end
    render_list(view)
    set_winbars(view)
    return true
  end)
end

---@param entry claude-ide.changeset.Entry
---@return boolean
local function needs_one_window(entry)
  local hunks = entry.hunks --[[@as claude-ide.diffview.Hunks]]
  local size = require("claude-ide.buffer.bytes").size
  local bytes = size(hunks.old) + size(hunks.proposed)
  return entry.file.after == nil
    or hunks.format.empty
    or require("claude-ide.diffview.pair").needs_one_window(hunks.list, #hunks.old, #hunks.proposed, bytes)
end

---@param view claude-ide.changeset.View
local function compare(view)
  local entry = M.current(view)
  view.pair = {
    bufs = entry.bufs --[[@as table]],
    wins = { now = view.wins.now, proposal = view.wins.proposal },
    hunks = entry.hunks --[[@as claude-ide.diffview.Hunks]],
  }
  require("claude-ide.diffview.pair").compare(view.pair)
end

---@param view claude-ide.changeset.View
local function stop_comparing(view)
  if view.pair then
    require("claude-ide.diffview.pair").end_comparing(view.pair)
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
  if view.closing or not listed_pair.stands(view) then
    return
  end
  local bufs = M.current(view).bufs --[[@as table<claude-ide.diffview.Side, integer>]]
  silently(function()
    stop_comparing(view)
    listed_pair.set_one_window(view, needs_one_window(M.current(view)), bufs.now, list_width(view))
    put(view.wins.proposal, bufs.proposal)
    if view.wins.now then
      put(view.wins.now, bufs.now)
    end
    compare(view)
    require("claude-ide.diffview.pair").go_to_first_change(view.pair --[[@as claude-ide.diffview.Pair]])
    return true
  end)
  M.refresh(view)
end

---@param view claude-ide.changeset.View
---@return boolean
local function may_decide(view)
  return view.pair ~= nil and require("claude-ide.ui.guard.window").proposal_accepts_key(view.list)
end

---Shows another file of the list.
---@param view claude-ide.changeset.View
---@param index integer
function M.show(view, index)
  local entry = view.entries[index]
  if not entry or view.closing or not listed_pair.stands(view) or view.shown == index and view.pair then
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
      local bufs = entry.bufs --[[@as table<claude-ide.diffview.Side, integer>]]
      for _, buf in pairs(bufs) do
        require("claude-ide.ui.guard.window").join(buf, view.list)
        require("claude-ide.changeset.keys").map(buf, view.verbs, function()
          return may_decide(view)
        end)
      end
      require("claude-ide.changeset.events").guard(view, bufs.proposal, entry.file.path, function()
        entry.typed = require("claude-ide.changeset.typed").of(entry)
      end)
    end
    if M.current(view) == entry then
      show_prepared(view)
    end
  end)
end

---@param view claude-ide.changeset.View
---@param path? string
function M.show_file(view, path)
  for index, entry in ipairs(view.entries) do
    if entry.file.path == path then
      M.show(view, index)
    end
  end
end

---@param view claude-ide.changeset.View
---@param step 1|-1
function M.go(view, step)
  M.show(view, (view.shown - 1 + step) % #view.entries + 1)
end

---Shows the texts in the next layout, and the diffs that come after it.
---@param view claude-ide.changeset.View
---@param name? claude-ide.diffview.LayoutName default: the next one
function M.switch(view, name)
  local layout = require("claude-ide.diffview.layout")
  if not view.pair or view.closing or not vim.api.nvim_win_is_valid(view.wins.proposal) then
    return
  end
  if view.one_window then
    return name or layout.say_one_window()
  elseif not name then
    name = layout.after(view.layout)
    layout.prefer(name)
  end
  listed_pair.turn(view, name, {
    beside = M.current(view).bufs.now,
    list_width = list_width(view),
    stop = function()
      stop_comparing(view)
    end,
    start = function()
      compare(view)
    end,
  })
  require("claude-ide.diffview.pair").align(view.pair --[[@as claude-ide.diffview.Pair]])
  M.refresh(view)
end

---The screen, or a window, has another size.
---@param view claude-ide.changeset.View
---@param screen boolean
function M.resized(view, screen)
  if not view.closing and listed_pair.stands(view) and listed_pair.is_current(view) then
    silently(function()
      if screen then
        listed_pair.fit(view, list_width(view))
      end
      return true
    end)
    M.refresh(view)
  end
end

---@param changeset claude-ide.Changeset
---@param verbs table<claude-ide.changeset.Verb, fun()>
---@param gone fun()
---@param focus boolean go there
---@return claude-ide.changeset.View
function M.open(changeset, verbs, gone, focus)
  local blank = require("claude-ide.ui.own_buffer").create({ bo = { bufhidden = "wipe" } })
  local list = require("claude-ide.diffview.list").make()
  local width = require("claude-ide.changeset.listing").width(changeset.entries)
  local frame = listed_pair.open({ text = "proposal", beside = "now" }, list, blank, width)
  ---@type claude-ide.changeset.View
  local view = vim.tbl_extend("error", frame, {
    changeset = changeset,
    entries = changeset.entries,
    shown = 1,
    list = list,
    verbs = verbs,
    gone = gone,
    closing = false,
  })
  require("claude-ide.ui.guard.window").proposal_opens(list)
  require("claude-ide.diff.write_intent").start("changeset " .. changeset.id)
  silently(function()
    render_list(view)
    return true
  end)
  -- Also where the texts are not yet: Neovim's own `ZZ` would close the window, and that rejects.
  for _, buf in ipairs({ list, blank }) do
    require("claude-ide.changeset.keys").map(buf, verbs, function()
      return may_decide(view)
    end)
  end
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
  silently(function()
    vim.api.nvim_set_current_win(view.wins.proposal)
    if not focus then
      require("claude-ide.ui.restore").go(view.screen)
    end
    return true
  end)
  -- Windows take their time, and so do texts: keys that are typed meanwhile come between the two.
  vim.schedule(require("claude-ide.safely").wrap("show the first file of a changeset", function()
    if not view.pair and not view.closing then
      M.show(view, view.shown)
    end
  end))
  return view
end

---@param view claude-ide.changeset.View
function M.focus(view)
  if vim.api.nvim_win_is_valid(view.wins.proposal) then
    vim.api.nvim_set_current_tabpage(view.tab)
    vim.api.nvim_set_current_win(view.wins.proposal)
  end
end

---Takes it off the screen; the user goes back to where they came from.
---@param view claude-ide.changeset.View
function M.close(view)
  view.closing = true
  pcall(vim.api.nvim_del_augroup_by_id, view.group)
  require("claude-ide.ui.guard.window").forget(view.list)
  require("claude-ide.diff.write_intent").stop("changeset " .. view.changeset.id)
  silently(function()
    stop_comparing(view)
    for _, win in pairs(view.wins) do
      if vim.api.nvim_win_is_valid(win) then
        require("claude-ide.ui.winbar").release(win)
      end
    end
    return true
  end)
  listed_pair.close(view, function()
    return true
  end, function()
    for _, entry in ipairs(view.entries) do
      texts().release(entry)
    end
    require("claude-ide.ui.own_buffer").delete(view.list)
  end)
end

return M
