-- The diffs that are on the screen or on their way to it: when each is shown, which comes after which, when it goes.
-- Does not decide anything: what the person does to a diff is handed to the verbs it was shown with.
local M = {}

---How long an accepted diff stays on the screen for the next one of the same turn to take its place. Any key ends it, and
---so does the client's word that the turn is over, which comes 60 to 100 ms after the last answer.
---Measured with the CLI 2.1.329: from an answer to the next openDiff 100 to 270 ms, on a busy machine up to 900.
local LINGER_MS = 600

---The same while the next one is on its way, however slow the disk is.
local LINGER_FOR_NEXT_MS = 3000

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

---@type table<integer, claude-ide.diff.Entry>
local entries = {}

---@type { entry: claude-ide.diff.Entry, timer: table }?
local lingering

---@param state? "pending"
---@return integer[] bufs
local function modified_bufs(state)
  local guard = require("claude-ide.diff.write_intent").guard()
  local bufs = guard and { guard } or {}
  for _, entry in pairs(entries) do
    if entry.text and (not state or entry.diff.state == state) then
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
  if lingering then
    lingering.timer:start(LINGER_FOR_NEXT_MS, 0, vim.schedule_wrap(M.end_lingering))
  end
  return entry
end

---@param id integer
---@return claude-ide.diff.Entry?
function M.get(id)
  return entries[id]
end

---The view to go to when this one is done: of the diff that has waited longest.
---@param besides claude-ide.diff.Entry
---@return claude-ide.diff.View?
local function next_view(besides)
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    local entry = entries[diff.id]
    if entry and entry ~= besides and entry.view then
      return entry.view
    end
  end
end

---@param entry claude-ide.diff.Entry
local function remove(entry)
  if entries[entry.diff.id] ~= entry then
    return
  end
  entries[entry.diff.id] = nil
  require("claude-ide.ui.attention").forget(entry.diff.id)
  if entry.group then
    vim.api.nvim_del_augroup_by_id(entry.group)
  end
  if entry.view then
    local view, turns = require("claude-ide.diff.view"), require("claude-ide.diff.waiting_line")
    local after = turns.next()
    local went_back = view.close(entry.view, { next_view = next_view(entry), another = after ~= nil })
    if after then
      turns.come_forward(after, went_back and entry.view or nil)
    end
  elseif entry.text then
    for _, buf in pairs(entry.text.bufs) do
      require("claude-ide.diff.buffers").delete(buf)
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
  require("claude-ide.diff.buffers").when_windows_may_change(function()
    remove(entry)
  end)
end

---Ends the time that a decided diff stays on the screen.
function M.end_lingering()
  if lingering then
    local entry = lingering.entry
    lingering.timer:stop()
    lingering.timer:close()
    lingering = nil
    clear(entry)
  end
end

---The client says that no more edits come.
---@param client integer
function M.end_of_turn(client)
  if lingering and lingering.entry.diff.client == client then
    M.end_lingering()
  end
end

---Lets a decided diff stay for a moment: a turn of several edits changes one screen instead of building five.
---@param entry claude-ide.diff.Entry
local function linger(entry)
  M.end_lingering()
  local winbar = require("claude-ide.diff.winbar").of_decided(entry.diff)
  require("claude-ide.diff.view").set_winbar(entry.view --[[@as claude-ide.diff.View]], winbar)
  vim.bo[entry.text.bufs.proposal].modifiable = false
  local timer = assert(vim.uv.new_timer())
  lingering = { entry = entry, timer = timer }
  timer:start(LINGER_MS, 0, vim.schedule_wrap(M.end_lingering))
  -- The next key is for the screen that comes after this one.
  require("claude-ide.ui.typing").before_next(function()
    if lingering and lingering.entry == entry then
      M.end_lingering()
    end
  end)
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
    return linger(entry)
  end
  -- Never within the autocommand that decided it: there windows cannot be closed.
  require("claude-ide.ui.typing").soon(function()
    clear(entry)
  end)
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
    wins = view.wins,
    lines = entry.text.lines,
    write = verbs.write,
    gone = function()
      if diff.state == "pending" then
        require("claude-ide.diff.view").note_loss(view)
        verbs.gone()
      end
    end,
  })
  events.map_keys(bufs, {
    accept = verbs.accept,
    reject = verbs.reject,
    reject_with_reason = verbs.reject_with_reason,
    hunk = function()
      if diff.state == "pending" then
        require("claude-ide.diff.choice").toggle(view)
      end
    end,
    layout = function()
      M.switch_layout(entry)
    end,
  })
end

---@param entry claude-ide.diff.Entry on the screen
---@param side claude-ide.ui.Side
---@param width integer
---@return string
local function winbar_of(entry, side, width)
  local layout = entry.view and entry.view.layout or require("claude-ide.ui.layout").preferred()
  local winbar, hunks, text = require("claude-ide.diff.winbar"), require("claude-ide.compare.live_hunks"), entry.text
  local unseen = require("claude-ide.buffer.bytes").unseen_changes(text.now.format, text.format)
  if side == "now" then
    return winbar.of_now(entry.diff, text.now, width, unseen)
  end
  ---@type claude-ide.compare.Hunks
  ---@diagnostic disable-next-line: assign-type-mismatch -- they are there before the view is
  local live = entry.hunks
  local comparison = text.comparison
  local added, removed = comparison.added, comparison.removed
  if live.list ~= comparison.hunks then
    added, removed = hunks.count(live)
  end
  local alone = not require("claude-ide.ui.layout").get(layout).now
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

---The person has changed the proposal.
---@param entry claude-ide.diff.Entry
local function refresh(entry)
  if entry.view and entry.diff.state == "pending" then
    require("claude-ide.diff.view").refresh(entry.view, winbars(entry))
    require("claude-ide.diff.choice").show_dropped(entry.view.hunks)
  end
end

---Shows a diff in the next layout, and those that come after it.
---@param entry claude-ide.diff.Entry
function M.switch_layout(entry)
  if entry.view and entry.diff.state == "pending" then
    local layout = require("claude-ide.ui.layout")
    local name = layout.after(entry.view.layout)
    layout.prefer(name)
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
    hunks = entry.hunks,
    plain = marks.needed(text.comparison.hunks, #text.now.lines + #text.lines, bytes),
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
  entry.view, entry.behind = nil, entry.verbs
end

---@class claude-ide.diff.ShowOpts
---@field asked? boolean the person wants to see this one, now
---@field instead_of? claude-ide.diff.View the person was in it, and it is gone

---Whether a diff has to wait for its turn: its place is taken, or it would cover what the person looks at.
---@param entry claude-ide.diff.Entry
---@param opts claude-ide.diff.ShowOpts
---@return boolean
local function has_to_wait(entry, opts)
  local place = require("claude-ide.ui.place")
  if not place.of(place.preferred()).shared then
    return false
  end
  -- One that is decided makes room first; what comes next then may be another one.
  M.end_lingering()
  local before = current()
  if before and opts.asked then
    put_aside(before)
    return false
  elseif before then
    return true
  end
  return require("claude-ide.diff.waiting_line").is_unwanted(entry, opts)
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
  local view, buffers = require("claude-ide.diff.view"), require("claude-ide.diff.buffers")
  local opts = view_opts(entry)
  local before = lingering and lingering.entry
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
  entry.view = view.open(entry.diff, entry.text.bufs, opts)
  listen(entry, verbs)
  follow_sizes(entry)
  M.end_lingering()
  if was_shown then
    return
  end
  for _, buf in pairs(entry.text.bufs) do
    buffers.highlight(buf, entry.text.now.buf)
  end
  require("claude-ide.diff.announce").opened(entry.diff)
end

return M
