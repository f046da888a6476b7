-- The diffs that are on the screen or on their way to it: when each is shown, which comes after which, when it goes.
-- Does not decide anything: what the person does to a diff is handed to the verbs it was shown with.
local M = {}

---What is known of a diff beside its state.
---@class claude-ide.diff.Entry
---@field diff claude-ide.Diff
---@field text? claude-ide.diff.Prepared from when both sides are ready
---@field tick? integer changedtick of the untouched proposal
---@field view? claude-ide.diff.View
---@field hunks? claude-ide.compare.Hunks from when it is on the screen
---@field group? integer augroup
---@field verbs? claude-ide.diff.Verbs from when it has been on the screen
---@field behind? claude-ide.diff.Verbs it is ready, and another one is where it would be

---What the person's doings mean.
---@class claude-ide.diff.Verbs
---@field accept fun()
---@field reject fun()
---@field reject_with_reason fun()
---@field write fun() the proposal was written by the person
---@field gone fun() a window or a buffer of the diff was closed
---@field show fun(how: claude-ide.diff.ShowOpts) its turn has come

local entries = require("claude-ide.diff.entries").all()

---See `claude-ide.diff.ModifiedBufs`.
---@param which "all"|"pending"|"expendable"
---@return integer[]
local function modified_bufs(which)
  local guard, kept = require("claude-ide.diff.write_intent").guard(), require("claude-ide.diff.rescued")
  local bufs = guard and { guard } or {}
  for _, entry in pairs(entries) do
    local is_pending = entry.diff.state == "pending"
    local is_typed_in = which == "expendable" and is_pending and kept.typed(entry)
    if entry.text and not is_typed_in and (which ~= "pending" or is_pending) then
      bufs[#bufs + 1] = entry.text.bufs.proposal
    end
  end
  return bufs
end

---@param diff claude-ide.Diff
---@return claude-ide.diff.Entry
function M.add(diff)
  if not next(entries) then
    require("claude-ide.ui.typing").attach("diff")
    require("claude-ide.diff.write_intent").start()
    require("claude-ide.diff.quit_and_delete").start(modified_bufs)
  end
  local entry = { diff = diff }
  entries[diff.id] = entry
  require("claude-ide.diff.linger").await_next()
  return entry
end

---@param id integer
---@return claude-ide.diff.Entry?
function M.get(id)
  return entries[id]
end

---The diff to go to when this one is done: the one that has waited longest, of those on the screen.
---@param besides claude-ide.diff.Entry
---@return claude-ide.diff.Entry?
local function next_shown(besides)
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    local entry = entries[diff.id]
    if entry and entry ~= besides and entry.view then
      return entry
    end
  end
end

---Takes the view of a diff off the screen, and sees to it that a key too many does no harm where the person lands.
---@param entry claude-ide.diff.Entry
local function close_view(entry)
  local view, turns, seen =
    require("claude-ide.diff.view"), require("claude-ide.diff.waiting_line"), require("claude-ide.diff.seen")
  local closed = entry.view --[[@as claude-ide.diff.View]]
  local was_within = closed.lost_here or view.is_within(closed)
  local follower, after = next_shown(entry), turns.next()
  if follower and was_within then
    seen.watch(follower.text.bufs.proposal)
  end
  local went_back = view.close(closed, { next_view = follower and follower.view, another = after ~= nil })
  if after then
    turns.come_forward(after, went_back and closed or nil)
  end
  local in_another = vim.iter(pairs(entries)):any(function(_, other)
    return other.view ~= nil and view.is_within(other.view)
  end)
  if was_within and not in_another then
    require("claude-ide.diff.landing").guard(require("claude-ide.diff.events").deciding_keys())
  end
end

---@param entry claude-ide.diff.Entry
function M.remove(entry)
  if entries[entry.diff.id] ~= entry then
    return
  end
  entries[entry.diff.id] = nil
  require("claude-ide.ui.attention").forget(entry.diff.id)
  if entry.text then
    require("claude-ide.diff.seen").forget(entry.text.bufs.proposal)
  end
  if entry.group then
    vim.api.nvim_del_augroup_by_id(entry.group)
  end
  if entry.view then
    close_view(entry)
  elseif entry.text then
    for _, buf in pairs(entry.text.bufs) do
      require("claude-ide.ui.own_buffer").delete(buf)
    end
  end
  if not next(entries) then
    require("claude-ide.diff.quit_and_delete").stop()
    require("claude-ide.diff.write_intent").stop()
    require("claude-ide.ui.typing").detach("diff")
    require("claude-ide.ui.restore").forget()
  end
end

---Takes everything of a diff away.
---@param entry claude-ide.diff.Entry
local function clear(entry)
  require("claude-ide.ui.quietly").when_windows_may_change(function()
    M.remove(entry)
  end)
end

---Who proposed says that no more edits come.
---@param source claude-ide.decisions.Source
function M.end_of_turn(source)
  local linger = require("claude-ide.diff.linger")
  local lingering = linger.entry()
  if lingering and lingering.diff.source == source then
    linger.finish()
  end
end

---Takes a settled diff off the screen, now or in a moment.
---@param entry claude-ide.diff.Entry
function M.take_down(entry)
  if vim.v.exiting ~= vim.NIL then
    return
  end
  local view = require("claude-ide.diff.view")
  local stays = entry.diff.state == "accepted"
    and entry.view
    and view.is_current(entry.view)
    and view.is_shown(entry.view, "proposal")
    and vim.api.nvim_get_mode().mode == "n"
  if stays then
    return require("claude-ide.diff.linger").start(entry, clear)
  end
  -- Never within the autocommand that decided it: there windows cannot be closed.
  require("claude-ide.ui.typing").soon(function()
    clear(entry)
  end)
end

---What is left of the windows shows the diff: see `mend` below.
local mend ---@type fun(entry: claude-ide.diff.Entry)

---@param entry claude-ide.diff.Entry
---@return claude-ide.diff.Loss
local function loss_of(entry)
  local view = entry.view --[[@as claude-ide.diff.View]]
  local function waits()
    return entry.diff.state == "pending" and entry.view == view
  end
  return {
    view = view,
    waits = waits,
    gone = function()
      if waits() then
        entry.verbs.gone()
      end
    end,
    mend = function()
      mend(entry)
    end,
  }
end

---@param entry claude-ide.diff.Entry
---@param verbs claude-ide.diff.Verbs
local function listen(entry, verbs)
  local diff, bufs, view = entry.diff, entry.text.bufs, entry.view --[[@as claude-ide.diff.View]]
  local events = require("claude-ide.diff.events")
  entry.group = vim.api.nvim_create_augroup("claude-ide.diff." .. diff.id, { clear = true })
  events.attach(entry.group, {
    diff = diff,
    bufs = bufs,
    lines = entry.text.lines,
    write = verbs.write,
    loss = loss_of(entry),
  })
  events.map_keys(diff, bufs, {
    accept = verbs.accept,
    reject = verbs.reject,
    reject_with_reason = verbs.reject_with_reason,
    hunk = function()
      require("claude-ide.diff.choice").toggle(view)
    end,
    layout = function()
      M.switch_layout(entry)
    end,
    help = events.help,
  })
end

---A new file has nothing that its proposal could stand beside.
---@param entry claude-ide.diff.Entry
---@return boolean
local function is_of_new_file(entry)
  return require("claude-ide.diff.present_text").is_new(entry.text.now)
end

---@param entry claude-ide.diff.Entry
---@return claude-ide.ui.LayoutName
local function layout_of(entry)
  if entry.view then
    return entry.view.layout
  end
  return is_of_new_file(entry) and "unified" or require("claude-ide.ui.layout").preferred()
end

---@param entry claude-ide.diff.Entry on the screen
---@param side claude-ide.ui.Side
---@param width integer
---@return string
local function winbar_of(entry, side, width)
  local winbar, hunks, text =
    require("claude-ide.diff.winbar"), require("claude-ide.compare.live_hunks"), entry.text
  ---@type claude-ide.compare.Hunks
  ---@diagnostic disable-next-line: assign-type-mismatch -- they are there before the view is
  local live = entry.hunks
  local format = hunks.format(live)
  if text.now.format.eol == "\r\n" and format.eol == "\n" and entry.diff.source.writes == "agent" then
    -- The CLI proposes LF for every file, and keeps the CRLF of the file that it writes.
    format = vim.tbl_extend("force", format, { eol = "\r\n" }) --[[@as claude-ide.bytes.Format]]
  end
  local unseen = require("claude-ide.buffer.bytes").unseen_changes(text.now.format, format)
  if side == "now" then
    return winbar.of_now(entry.diff, text.now, width, unseen)
  end
  local comparison = text.comparison
  local added, removed = comparison.added, comparison.removed
  if live.list ~= comparison.hunks then
    added, removed = hunks.count(live)
  end
  local alone = not require("claude-ide.ui.layout").get(layout_of(entry)).now
  return winbar.of_proposal(entry.diff, {
    added = added,
    removed = removed,
    kept = #live.original - #hunks.dropped(live),
    total = #live.original,
    others = require("claude-ide.diff.state").count() - 1,
    width = width,
    now = alone and text.now or nil,
    unseen = alone and unseen or nil,
  })
end

---@param entry claude-ide.diff.Entry
---@return fun(side: claude-ide.ui.Side, width: integer): string
local function winbars(entry)
  return function(side, width)
    return winbar_of(entry, side, width)
  end
end

---The number of those that wait is another: the diffs on the screen say how many more there are.
function M.recount()
  for _, entry in pairs(entries) do
    if entry.view and entry.diff.state == "pending" then
      require("claude-ide.diff.arrange").set_winbars(entry.view, winbars(entry))
    end
  end
end

---The person has changed the proposal.
---@param entry claude-ide.diff.Entry
local function refresh(entry)
  if entry.view and entry.diff.state == "pending" then
    require("claude-ide.diff.view").refresh(entry.view, winbars(entry))
    require("claude-ide.diff.choice").show_dropped(entry.view.hunks)
  end
end

---Shows a diff in the next layout, and those that come after it. The one of a new file is shown in one that nobody chose, so
---the next one is no choice for others either.
---@param entry claude-ide.diff.Entry
function M.switch_layout(entry)
  if entry.view and entry.diff.state == "pending" then
    local layout = require("claude-ide.ui.layout")
    local name = layout.after(entry.view.layout)
    if not is_of_new_file(entry) then
      layout.prefer(name)
    end
    require("claude-ide.diff.view").switch(entry.view, name, winbars(entry))
  end
end

---Keeps the windows as large as the screen lets them be, and the winbars as wide as their windows.
---@param entry claude-ide.diff.Entry on the screen
local function follow_sizes(entry)
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "TabEnter" }, {
    group = entry.group,
    desc = "Claude Code: a diff fits the screen",
    callback = function()
      if entry.view and entry.diff.state == "pending" then
        require("claude-ide.diff.view").fit(entry.view)
        require("claude-ide.diff.arrange").set_winbars(entry.view, winbars(entry))
      end
    end,
  })
end

---@param entry claude-ide.diff.Entry that the person has closed a window of, but not the last one of the proposal
function mend(entry)
  local text = entry.text --[[@as claude-ide.diff.Prepared]]
  local view = entry.view --[[@as claude-ide.diff.View]]
  local function in_order()
    if entry.view == view and entry.diff.state == "pending" then
      require("claude-ide.diff.view").mend(view, winbars(entry))
    end
  end
  if vim.api.nvim_buf_is_loaded(text.bufs.now) then
    return in_order()
  end
  require("claude-ide.diff.prepare").make_now_again(entry.diff, text, function()
    if entry.view == view and entry.diff.state == "pending" then
      listen(entry, entry.verbs --[[@as claude-ide.diff.Verbs]])
      follow_sizes(entry)
      in_order()
    end
  end)
end

---@param entry claude-ide.diff.Entry
---@return claude-ide.diff.ViewOpts
local function view_opts(entry)
  local text = entry.text --[[@as claude-ide.diff.Prepared]]
  local bytes = #entry.diff.proposed + #(text.now.disk.bytes or "")
  local marks = require("claude-ide.compare.marks")
  entry.hunks = entry.hunks
    or require("claude-ide.compare.live_hunks").follow(text, function()
      refresh(entry)
    end)
  return {
    focus = false,
    layout = layout_of(entry),
    hunks = entry.hunks,
    plain = text.format.empty or marks.needed(text.comparison.hunks, #text.now.lines + #text.lines, bytes),
    winbar = winbars(entry),
  }
end

---The diff that the person has before them, unless it is `besides`.
---@param besides? claude-ide.diff.Entry
---@return claude-ide.diff.Entry?
local function current(besides)
  for _, entry in pairs(entries) do
    if entry ~= besides and entry.view and require("claude-ide.diff.view").is_current(entry.view) then
      return entry
    end
  end
end

---Takes a diff off the screen to make room for another; it comes back when that is decided.
---@param entry claude-ide.diff.Entry
local function put_aside(entry)
  vim.api.nvim_del_augroup_by_id(entry.group --[[@as integer]])
  require("claude-ide.diff.view").put_aside(entry.view --[[@as claude-ide.diff.View]])
  entry.group, entry.view, entry.behind = nil, nil, entry.verbs
end

---@class claude-ide.diff.ShowOpts
---@field asked? boolean the person wants to see this one, now
---@field instead_of? claude-ide.diff.View the person was in it, and it is gone

---Whether a diff has to wait for its turn: its place is taken, or it would cover what the person looks at.
---@param entry claude-ide.diff.Entry
---@param opts claude-ide.diff.ShowOpts
---@return boolean
local function has_to_wait(entry, opts)
  local place = require("claude-ide.ui.places")
  if not place.of(place.preferred()).shared then
    return false
  end
  -- One that is decided makes room first; what comes next then may be another one.
  require("claude-ide.diff.linger").finish()
  local before = current()
  if before and opts.asked then
    put_aside(before)
    return false
  elseif before then
    return true
  end
  return require("claude-ide.diff.waiting_line").is_unwanted(entry, opts)
end

---Takes everything away at once: Neovim is about to leave.
function M.clear_all()
  require("claude-ide.diff.linger").finish()
  for _, entry in pairs(vim.tbl_extend("force", {}, entries)) do
    local ok, err = pcall(M.remove, entry)
    if not ok then
      require("claude-ide.log").warn("a diff stayed on the screen: %s", tostring(err))
    end
  end
end

---Puts a diff on the screen.
---@param entry claude-ide.diff.Entry with its text
---@param verbs claude-ide.diff.Verbs
---@param how? claude-ide.diff.ShowOpts
function M.show(entry, verbs, how)
  how = how or {}
  if entry.diff.state ~= "pending" or entry.view then
    return
  elseif has_to_wait(entry, how) then
    entry.behind = verbs
    return
  elseif entry.view then
    return -- it was its turn meanwhile
  end
  local view = require("claude-ide.diff.view")
  local opts = view_opts(entry)
  local before = require("claude-ide.diff.linger").entry()
  local takes_over = before and before.view and view.is_current(before.view)
  local here = current(before)
  if here then
    opts.screen = here.view.screen
  elseif takes_over or how.instead_of then
    opts.screen = (how.instead_of or before.view).screen
  end
  -- Someone who looks at another diff goes on looking at it.
  local follows = takes_over or how.instead_of ~= nil or require("claude-ide.config").get().diff.focus
  opts.focus = how.asked or not here and follows
  local was_shown = entry.verbs ~= nil
  entry.behind, entry.verbs = nil, verbs
  require("claude-ide.diff.seen").watch(entry.text.bufs.proposal)
  entry.view = view.open(entry.diff, entry.text.bufs, opts)
  listen(entry, verbs)
  follow_sizes(entry)
  require("claude-ide.diff.linger").finish()
  if was_shown then
    return
  end
  for _, buf in pairs(entry.text.bufs) do
    require("claude-ide.ui.own_buffer").highlight(buf, entry.text.now.buf)
  end
  require("claude-ide.diff.announce").opened(entry.diff)
end

return M
