-- Edits that a client proposes and a person decides on: what happens from the request to the answer and after it.
-- `state` knows what was decided, `view` what is on the screen; this brings the two together. See ARCHITECTURE.md.
local M = {}

---How long an accepted diff stays on the screen for the next one of the same turn to take its place. Any key ends it.
---Measured: the CLI's next openDiff comes within tens of milliseconds of the answer.
local LINGER_MS = 150

---Past so many bytes the work is spread over several turns of the event loop.
local LARGE_BYTES = 1024 * 1024

---What is known of a diff beside its state.
---@class claude-ide.diff.Entry
---@field diff claude-ide.Diff
---@field now? claude-ide.diff.Now from when the present text was read
---@field lines? string[] of the proposal
---@field format? claude-ide.diff.Format
---@field hunks? claude-ide.buffer.Hunk[]
---@field bufs? table<claude-ide.diff.Side, integer>
---@field tick? integer changedtick of the untouched proposal
---@field view? claude-ide.diff.View
---@field group? integer augroup

---@type table<integer, claude-ide.diff.Entry>
local entries = {}

---@type { entry: claude-ide.diff.Entry, timer: table }?
local lingering

---@param name "ClaudeDiffOpened"|"ClaudeDiffClosed"
---@param diff claude-ide.Diff
local function emit(name, diff)
  require("claude-ide.event").emit(name, {
    id = diff.id,
    client = diff.client,
    path = diff.path,
    tab_name = diff.tab_name,
    outcome = diff.state ~= "pending" and diff.state or nil,
  })
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

local function stop_listening()
  if not next(entries) then
    require("claude-ide.diff.intent").stop()
    require("claude-ide.diff.keys").detach("diff")
    require("claude-ide.diff.restore").forget()
  end
end

---Takes everything of a diff away.
---@param entry claude-ide.diff.Entry
---@param onward? claude-ide.diff.View where the person goes if they are in its tab
local function clear(entry, onward)
  if entries[entry.diff.id] ~= entry then
    return
  end
  entries[entry.diff.id] = nil
  require("claude-ide.diff.attention").forget(entry.diff.id)
  if entry.group then
    vim.api.nvim_del_augroup_by_id(entry.group)
  end
  if entry.view then
    require("claude-ide.diff.view").close(entry.view, onward)
  elseif entry.bufs then
    for _, buf in pairs(entry.bufs) do
      require("claude-ide.diff.buffers").delete(buf)
    end
  end
  stop_listening()
end

---Ends the time that a decided diff stays on the screen.
local function end_lingering()
  if not lingering then
    return
  end
  local entry = lingering.entry
  lingering.timer:stop()
  lingering.timer:close()
  lingering = nil
  clear(entry, next_view(entry))
end

---Lets a decided diff stay for a moment: a turn of several edits changes one screen instead of building five.
---@param entry claude-ide.diff.Entry
local function linger(entry)
  end_lingering()
  local view = require("claude-ide.diff.view")
  view.set_winbar(entry.view, require("claude-ide.diff.winbar").of_decided(entry.diff))
  vim.bo[entry.bufs.proposal].modifiable = false
  local timer = assert(vim.uv.new_timer())
  lingering = { entry = entry, timer = timer }
  timer:start(LINGER_MS, 0, vim.schedule_wrap(end_lingering))
  -- The key is for the screen that comes after this one.
  require("claude-ide.diff.keys").before_next(function()
    if lingering and lingering.entry == entry then
      end_lingering()
    end
  end)
end

---The screen's part of an end.
---@param entry claude-ide.diff.Entry
local function take_down(entry)
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
    linger(entry)
    return
  end
  -- Never within the autocommand that decided it: there windows cannot be closed.
  require("claude-ide.diff.keys").soon(function()
    clear(entry, next_view(entry))
  end)
end

---Puts the text that a person typed into a proposal aside, where somebody else ended the diff.
---@param entry claude-ide.diff.Entry
local function keep_edits(entry)
  local buf = entry.bufs and entry.bufs.proposal
  if
    not buf
    or not vim.api.nvim_buf_is_loaded(buf)
    or vim.api.nvim_buf_get_changedtick(buf) == entry.tick
  then
    return
  end
  local bytes = require("claude-ide.diff.proposal").read(buf, entry.format)
  if bytes == entry.diff.proposed then
    return
  end
  require("claude-ide.diff.kept").put(entry.diff, buf)
end

---What is to be said and done once a diff is settled.
---@param diff claude-ide.Diff
local function after(diff)
  local entry = entries[diff.id]
  emit("ClaudeDiffClosed", diff)
  if entry then
    take_down(entry)
  end
end

---@param diff claude-ide.Diff
---@param by_person boolean decided with a verb, not just a window closed
local function reject(diff, by_person)
  local entry = entries[diff.id]
  if entry and not by_person and diff.state == "pending" then
    keep_edits(entry)
  end
  if require("claude-ide.diff.state").settle(diff, by_person and "rejected" or "closed") then
    after(diff)
  end
end

---The bytes that would be accepted now.
---@param entry claude-ide.diff.Entry?
---@param diff claude-ide.Diff
---@return string? bytes
---@return string? err
local function contents_of(entry, diff)
  local buf = entry and entry.bufs and entry.bufs.proposal
  if
    not buf
    or not vim.api.nvim_buf_is_loaded(buf)
    or vim.api.nvim_buf_get_changedtick(buf) == entry.tick
  then
    return diff.proposed
  end
  local bytes = require("claude-ide.diff.proposal").read(buf, entry.format)
  if bytes ~= diff.proposed and require("claude-ide.position").valid(bytes) ~= bytes then
    return nil,
      "The proposal has bytes that are not UTF-8, which Claude cannot take. Mend them and accept again."
  end
  return bytes
end

---@param diff claude-ide.Diff
---@return boolean? accepted
---@return string? err
local function accept(diff)
  local entry = entries[diff.id]
  local contents, err = contents_of(entry, diff)
  if not contents then
    require("claude-ide.notice").error(err)
    return nil, err
  end
  local now = entry and entry.now
  if require("claude-ide.diff.state").settle(diff, "accepted", contents) then
    if now then
      require("claude-ide.diff.reload").await(diff.path, contents, now)
    end
    after(diff)
  end
  return true
end

---@param entry claude-ide.diff.Entry
local function listen(entry)
  local diff, buf = entry.diff, entry.bufs.proposal
  entry.group = vim.api.nvim_create_augroup("claude-ide.diff." .. diff.id, { clear = true })
  require("claude-ide.diff.events").attach(entry.group, {
    diff = diff,
    bufs = entry.bufs,
    lines = entry.lines,
    write = function()
      if diff.state == "pending" then
        accept(diff)
      end
    end,
    gone = function()
      if diff.state == "pending" and entry.view then
        require("claude-ide.diff.view").note_loss(entry.view)
      end
      reject(diff, false)
    end,
    windows = function()
      return entry.view and entry.view.wins or {}
    end,
  })
  require("claude-ide.diff.events").map_keys(entry.bufs, {
    accept = function()
      M.accept(diff.id)
    end,
    reject = function()
      M.reject(diff.id)
    end,
  })
  entry.tick = vim.api.nvim_buf_get_changedtick(buf)
end

---@param entry claude-ide.diff.Entry
---@return claude-ide.diff.ViewOpts
local function view_opts(entry)
  local winbar, proposal = require("claude-ide.diff.winbar"), require("claude-ide.diff.proposal")
  local now = entry.now --[[@as claude-ide.diff.Now]]
  local added, removed = winbar.count_lines(entry.hunks)
  local others = require("claude-ide.diff.state").count() - 1
  return {
    focus = false,
    hunks = entry.hunks,
    plain = require("claude-ide.diff.marks").needed(
      entry.hunks,
      #now.lines + #entry.lines,
      #entry.diff.proposed + #(now.disk.bytes or "")
    ),
    winbars = {
      now = winbar.of_now(entry.diff, now, proposal.unseen_changes(now.format, entry.format)),
      proposal = winbar.of_proposal(entry.diff, {
        added = added,
        removed = removed,
        others = others,
      }),
    },
  }
end

---@param entry claude-ide.diff.Entry
local function show(entry)
  if entry.diff.state ~= "pending" then
    return
  end
  local view = require("claude-ide.diff.view")
  local opts = view_opts(entry)
  local before = lingering and lingering.entry
  local here = nil
  for _, other in pairs(entries) do
    if other ~= before and other.view and view.is_current(other.view) then
      here = other.view
    end
  end
  local takes_over = before and view.is_current(before.view)
  if here then
    opts.screen = here.screen
  elseif takes_over then
    opts.screen = before.view.screen
  end
  -- Someone who looks at another diff goes on looking at it.
  opts.focus = not here and (takes_over or require("claude-ide.config").get().diff.focus)
  entry.view = view.open(entry.diff, entry.bufs, opts)
  listen(entry)
  if before then
    end_lingering()
  end
  local source = entry.now.buf
  require("claude-ide.diff.buffers").highlight(entry.bufs.now, source)
  require("claude-ide.diff.buffers").highlight(entry.bufs.proposal, source)
  emit("ClaudeDiffOpened", entry.diff)
end

---Runs the steps one after another, each in a turn of the event loop of its own where the texts are large.
---@param entry claude-ide.diff.Entry
---@param large boolean
---@param steps fun()[]
local function run(entry, large, steps)
  local function step(i)
    if not steps[i] or entry.diff.state ~= "pending" then
      return
    end
    steps[i]()
    if large then
      vim.schedule(function()
        step(i + 1)
      end)
    else
      step(i + 1)
    end
  end
  step(1)
end

---@param entry claude-ide.diff.Entry
---@param disk claude-ide.diff.Disk
local function prepare(entry, disk)
  local diff = entry.diff
  local buffers, source = require("claude-ide.diff.buffers"), require("claude-ide.diff.source")
  entry.bufs = {}
  run(entry, #diff.proposed + #(disk.bytes or "") > LARGE_BYTES, {
    function()
      entry.now = source.present(diff.old_path, disk)
    end,
    function()
      entry.bufs.now = buffers.make_now(diff, entry.now)
    end,
    function()
      entry.lines, entry.format = require("claude-ide.diff.proposal").decode(diff.proposed)
    end,
    function()
      entry.bufs.proposal = buffers.make_proposal(diff, entry.lines, entry.format, entry.now.buf)
      entry.tick = vim.api.nvim_buf_get_changedtick(entry.bufs.proposal)
    end,
    function()
      entry.hunks = require("claude-ide.buffer.patch").hunks(entry.now.lines, entry.lines)
    end,
    function()
      require("claude-ide.diff.attention").when_free(diff.id, vim.fs.basename(diff.path), function()
        show(entry)
      end)
    end,
  })
end

---Shows a proposed edit and answers when the person has decided. See `claude-ide.Tool`.
---@param args claude-ide.diff.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.open(args, respond, call)
  M.attach()
  require("claude-ide.diff.keys").attach("diff")
  require("claude-ide.diff.intent").start()
  local diff = require("claude-ide.diff.state").add(call, args, respond)
  local entry = { diff = diff }
  entries[diff.id] = entry
  if lingering then
    -- It stays until this one can take its place, however slow the disk is.
    lingering.timer:start(LINGER_MS * 4, 0, vim.schedule_wrap(end_lingering))
  end
  require("claude-ide.diff.source").read(diff.old_path, function(disk)
    require("claude-ide.diff.reload").observed(diff.old_path, disk)
    prepare(entry, disk)
  end)
end

---The diff that a command without an id means: the one in this tab, else the one that has waited longest.
---@param id? integer
---@return claude-ide.Diff?
---@return string? err
local function find(id)
  local state = require("claude-ide.diff.state")
  if id then
    local diff = state.get(id)
    return diff, not diff and ("There is no diff %d that waits."):format(id) or nil
  end
  local pending = state.pending()
  for _, diff in ipairs(pending) do
    local entry = entries[diff.id]
    if entry and entry.view and require("claude-ide.diff.view").is_current(entry.view) then
      return diff
    end
  end
  return pending[1], not pending[1] and "No diff waits for a decision." or nil
end

---Accepts a proposal as it now stands.
---@param id? integer default: the diff in the current tab, else the one that has waited longest
---@return boolean? ok
---@return string? err
function M.accept(id)
  local diff, err = find(id)
  if not diff then
    return nil, err
  end
  return accept(diff)
end

---Rejects a proposal.
---@param id? integer default: as for `accept`
---@param _reason? string kept for the review
---@return boolean? ok
---@return string? err
function M.reject(id, _reason)
  local diff, err = find(id)
  if not diff then
    return nil, err
  end
  reject(diff, true)
  return true
end

---@class claude-ide.diff.Item one diff that waits, for lists and pickers
---@field id integer
---@field client integer
---@field path string
---@field tab_name string
---@field added? integer
---@field removed? integer
---@field against? "disk"|"buffer"|"nothing"
---@field tab? integer tabpage handle; nil: not shown yet
---@field current boolean in the current tab

---@return claude-ide.diff.Item[] the longest waiting first
function M.list()
  local items = {}
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    local entry = entries[diff.id] or {}
    local item =
      { id = diff.id, client = diff.client, path = diff.path, tab_name = diff.tab_name, current = false }
    if entry.hunks then
      item.added, item.removed = require("claude-ide.diff.winbar").count_lines(entry.hunks)
      item.against = entry.now.against
    end
    if entry.view then
      item.tab = entry.view.tab
      item.current = require("claude-ide.diff.view").is_current(entry.view)
    end
    items[#items + 1] = item
  end
  return items
end

---@return integer
function M.count()
  return require("claude-ide.diff.state").count()
end

---Goes to a diff, also to one that waits for a pause in typing.
---@param id? integer default: the one that has waited longest
---@return boolean? ok
---@return string? err
function M.focus(id)
  local diff, err = find(id)
  if not diff then
    return nil, err
  end
  local entry = entries[diff.id]
  if not entry.bufs or not entry.hunks then
    return nil, "The diff is still being read."
  elseif not entry.view then
    require("claude-ide.diff.attention").forget(diff.id)
    show(entry)
  end
  require("claude-ide.diff.view").focus(entry.view)
  return true
end

---The caller of a diff is gone: it ends without an answer.
---@param call claude-ide.Call
function M.close_call(call)
  local state = require("claude-ide.diff.state")
  local diff = state.get(call.id)
  if diff then
    keep_edits(entries[diff.id])
    state.abandon(diff)
    after(diff)
  end
end

---@param client integer
---@param matches fun(diff: claude-ide.Diff): boolean
---@return integer count
local function close_matching(client, matches)
  local diffs = require("claude-ide.diff.state").pending(function(diff)
    return diff.client == client and matches(diff)
  end)
  for _, diff in ipairs(diffs) do
    reject(diff, false)
  end
  return #diffs
end

---Ends the diffs of a client that have this name, or are of this file.
---@param client integer
---@param name string
---@return boolean closed false: none waits, because it was decided before or never was
function M.close_by_name(client, name)
  return close_matching(client, function(diff)
    return diff.tab_name == name or diff.path == name
  end) > 0
end

---Ends all diffs of a client.
---@param client integer
---@return integer count
function M.close_client(client)
  return close_matching(client, function()
    return true
  end)
end

---Ends all diffs of everybody: the server stops.
function M.reject_all()
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    reject(diff, false)
  end
end

local attached = false

---Listens to the server, once. From the first client on the keys are watched, so that a diff knows whether somebody types.
function M.attach()
  if attached then
    return
  end
  attached = true
  local server, keys = require("claude-ide.server"), require("claude-ide.diff.keys")
  server.on("stopping", M.reject_all)
  server.on("client_ready", function()
    keys.attach("clients")
  end)
  server.on("client_disconnected", function()
    if #server.clients() == 0 then
      keys.detach("clients")
    end
  end)
  server.on("stopped", function()
    keys.detach("clients")
  end)
end

return M
