-- Edits that a client proposes and a person decides on. The facade: what the tools, the commands and other people call.
-- `state` knows what was decided, `stage` what is on the screen; here a decision is made known to both and to the client.
local M = {}

---What the person typed into the proposal, where that is not just the proposal.
---@param entry claude-ide.diff.Entry?
---@return integer? buf nil: it is untouched, or was never shown
---@return string? bytes
local function edited(entry)
  local buf = entry and entry.text and entry.text.bufs.proposal
  if
    not buf
    or not vim.api.nvim_buf_is_loaded(buf)
    or vim.api.nvim_buf_get_changedtick(buf) == entry.tick
  then
    return nil
  end
  local bytes = require("claude-ide.buffer.bytes").read(buf, entry.text.format)
  if bytes == entry.diff.proposed then
    return nil
  end
  return buf, bytes
end

---What is to be said and done once a diff is settled.
---@param diff claude-ide.Diff
local function after(diff)
  local stage = require("claude-ide.diff.on_screen")
  local entry = stage.get(diff.id)
  if entry then
    stage.take_down(entry)
  end
  require("claude-ide.diff.announce").closed(diff)
end

---@param diff claude-ide.Diff
---@param reason? string for Claude
local function reject(diff, reason)
  if diff.state == "pending" and reason and vim.trim(reason) ~= "" then
    require("claude-ide.diff.reason").tell(diff.client, reason)
  end
  if require("claude-ide.diff.state").settle(diff, "rejected") then
    after(diff)
  end
end

---Ends a diff that was not decided by a verb. What the person typed into it is kept.
---@param diff claude-ide.Diff
---@param outcome "rejected"|"closed" rejected: the person closed its window; closed: it was not the person
---@param caller_is_gone? boolean
local function close(diff, outcome, caller_is_gone)
  if diff.state ~= "pending" then
    return
  end
  local buf = edited(require("claude-ide.diff.on_screen").get(diff.id))
  if buf then
    require("claude-ide.diff.rescued").put(diff, buf)
  end
  local state = require("claude-ide.diff.state")
  if caller_is_gone then
    state.abandon(diff)
  else
    state.settle(diff, outcome)
  end
  after(diff)
end

---Whether the person has dropped every change: the text is the present one, byte for byte.
---@param entry claude-ide.diff.Entry
---@param bytes string
---@return boolean
local function is_all_dropped(entry, bytes)
  local now = entry.text.now
  return now.against ~= "nothing"
    and bytes == require("claude-ide.buffer.bytes").encode(now.lines, now.format, now.format.empty)
end

---@param diff claude-ide.Diff
---@return boolean? accepted false-y: it could not be; a proposal with nothing left of it is rejected
---@return string? err
local function accept(diff)
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  local _, bytes = edited(entry)
  if bytes and require("claude-ide.position").valid(bytes) ~= bytes then
    return nil,
      "The proposal has bytes that are not UTF-8, which Claude cannot take. Mend them and accept again."
  end
  if entry and bytes and is_all_dropped(entry, bytes) then
    reject(diff)
    return true
  end
  local contents = bytes or diff.proposed
  if require("claude-ide.diff.state").settle(diff, "accepted", contents) then
    if entry and entry.text then
      require("claude-ide.diff.reload").await(diff.path, contents, entry.text.now)
    end
    after(diff)
  end
  return true
end

---For keys and `:w`, which tell nobody else why it was not accepted.
---@param diff claude-ide.Diff
local function accept_or_say(diff)
  local _, err = accept(diff)
  if err then
    require("claude-ide.ui.notice").error(err)
  end
end

---Ends a diff that cannot be put before the person: the CLI's own prompt decides.
---@param diff claude-ide.Diff
---@return fun(trace: string)
local function failing(diff)
  return function(trace)
    require("claude-ide.log").error("diff %d of %s cannot be shown: %s", diff.id, diff.path, trace)
    if require("claude-ide.diff.state").fail(diff, "the editor could not show the diff") then
      local name = vim.fs.basename(diff.path)
      require("claude-ide.ui.notice").error(name .. ": the diff cannot be shown. Decide in Claude's prompt.")
      after(diff)
    end
  end
end

---The one place from which a diff gets onto the screen.
---@param entry claude-ide.diff.Entry
---@param how? claude-ide.diff.ShowOpts
---@return boolean ok false: it failed, and the diff has ended
local function show(entry, how)
  local diff = entry.diff
  local stage = require("claude-ide.diff.on_screen")
  return require("claude-ide.diff.guard").wrap(stage.show, failing(diff))(entry, {
    accept = function()
      accept_or_say(diff)
    end,
    reject = function()
      reject(diff)
    end,
    reject_with_reason = function()
      require("claude-ide.diff.reason").ask(diff, function(reason)
        reject(diff, reason)
      end)
    end,
    write = function()
      accept_or_say(diff)
    end,
    gone = function()
      close(diff, "rejected")
    end,
    show = function(later)
      show(entry, later)
    end,
  }, how)
end

---Shows a proposed edit and answers when the person has decided. See `claude-ide.Tool`.
---@param args claude-ide.diff.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.open(args, respond, call)
  M.attach()
  local diff = require("claude-ide.diff.state").add(call, args, respond)
  local stage = require("claude-ide.diff.on_screen")
  if not require("claude-ide.diff.guard").wrap(stage.add, failing(diff))(diff) then
    return
  end
  local entry = stage.get(diff.id) --[[@as claude-ide.diff.Entry]]
  local function is_wanted()
    return diff.state == "pending"
  end
  require("claude-ide.diff.prepare").run(diff, is_wanted, function(text)
    entry.text = text
    entry.tick = vim.api.nvim_buf_get_changedtick(text.bufs.proposal)
    require("claude-ide.ui.attention").when_free(diff.id, vim.fs.basename(diff.path), function()
      show(entry)
    end)
  end, failing(diff))
end

---@param diff claude-ide.Diff
---@return boolean
local function is_here(diff)
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  return entry ~= nil and entry.view ~= nil and require("claude-ide.diff.view").is_current(entry.view)
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
  local diff = state.pending(is_here)[1] or state.pending()[1]
  return diff, not diff and "No diff waits for a decision." or nil
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
---@param reason? string becomes Claude's next prompt where it runs in our terminal, else it is kept in a register
---@return boolean? ok
---@return string? err
function M.reject(id, reason)
  local diff, err = find(id)
  if not diff then
    return nil, err
  end
  reject(diff, reason)
  return true
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
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  if not entry or not entry.text then
    return nil, "The diff is still being made."
  end
  require("claude-ide.ui.attention").forget(diff.id)
  if not show(entry, { asked = true }) then
    return nil, "The diff cannot be shown."
  end
  require("claude-ide.diff.view").focus(entry.view --[[@as claude-ide.diff.View]])
  return true
end

---Decides on all diffs that wait, as they now stand.
---@param outcome "accepted"|"rejected"
---@return integer count of those that are decided; one that cannot be accepted says so and stays
function M.decide_all(outcome)
  local count = 0
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    if outcome == "rejected" then
      reject(diff)
    else
      accept_or_say(diff)
    end
    count = count + (diff.state ~= "pending" and 1 or 0)
  end
  return count
end

---Goes from diff to diff, around the end too.
---@param direction 1|-1 1: to the one that has waited less long
---@return boolean? ok
---@return string? err
function M.step(direction)
  local diffs = require("claude-ide.diff.state").pending()
  if #diffs == 0 then
    return nil, "No diff waits for a decision."
  end
  local at = direction == 1 and 0 or 1
  for i, diff in ipairs(diffs) do
    at = is_here(diff) and i or at
  end
  return M.focus(diffs[(at - 1 + direction) % #diffs + 1].id)
end

---@class claude-ide.diff.Item one diff that waits, for lists and pickers
---@field id integer
---@field client integer
---@field path string
---@field tab_name string
---@field added? integer lines; nil: it is still being made
---@field removed? integer lines
---@field first? integer line of the present text that the first change is in
---@field against? "disk"|"buffer"|"nothing"
---@field tab? integer tabpage handle; nil: not on the screen yet
---@field current boolean it is in the current tab

---@return claude-ide.diff.Item[] the longest waiting first
function M.list()
  return vim.tbl_map(function(diff)
    local entry = require("claude-ide.diff.on_screen").get(diff.id) or {}
    local text, view = entry.text, entry.view
    return {
      id = diff.id,
      client = diff.client,
      path = diff.path,
      tab_name = diff.tab_name,
      added = text and text.comparison.added,
      removed = text and text.comparison.removed,
      first = text and text.comparison.hunks[1] and text.comparison.hunks[1].old,
      against = text and text.now.against,
      tab = view and view.tab,
      current = is_here(diff),
    }
  end, require("claude-ide.diff.state").pending())
end

---How many diffs wait.
---@return integer
function M.count()
  return require("claude-ide.diff.state").count()
end

---The caller of a diff is gone: it ends without an answer.
---@param call claude-ide.Call
function M.close_call(call)
  local diff = require("claude-ide.diff.state").get(call.id)
  if diff then
    close(diff, "closed", true)
  end
end

---@param matches fun(diff: claude-ide.Diff): boolean
---@return integer count
local function close_matching(matches)
  local diffs = require("claude-ide.diff.state").pending(matches)
  for _, diff in ipairs(diffs) do
    close(diff, "closed")
  end
  return #diffs
end

---Ends the diffs of a client that have this name, or are of this file.
---@param client integer
---@param name string
---@return boolean closed false: none waits, because it was decided before or never was
function M.close_by_name(client, name)
  return close_matching(function(diff)
    return diff.client == client and (diff.tab_name == name or diff.path == name)
  end) > 0
end

---Ends all diffs of a client.
---@param client integer
---@return integer count
function M.close_client(client)
  M.end_of_turn(client)
  require("claude-ide.diff.reason").prompt_submitted(client)
  return close_matching(function(diff)
    return diff.client == client
  end)
end

---The client has said that the edits of its turn are over: the screen need not wait for another one.
---@param client integer
function M.end_of_turn(client)
  require("claude-ide.diff.on_screen").end_of_turn(client)
end

---Ends all diffs of everybody: the server stops.
---@return integer count
function M.reject_all()
  return close_matching(function()
    return true
  end)
end

local attached = false

---Listens to the server, once. From the first client on the keys are watched, so that a diff knows whether somebody types.
function M.attach()
  if attached then
    return
  end
  attached = true
  require("claude-ide.diff.state").register({
    one = "diff",
    many = "diffs",
    present = function(decision)
      require("claude-ide.diff.presenter").present(decision --[[@as claude-ide.Diff]])
    end,
    withdraw = function(decision, why)
      require("claude-ide.diff.presenter").withdraw(decision --[[@as claude-ide.Diff]], why)
    end,
  })
  local hub, keys = require("claude-ide.hub"), require("claude-ide.ui.typing")
  hub.on("decisions_changed", function()
    require("claude-ide.diff.on_screen").recount()
  end)
  hub.on("client_ready", function()
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
