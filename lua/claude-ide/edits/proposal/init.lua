-- Proposed edits that the user decides on. The facade for tools, commands and users' configurations.
local state = require("claude-ide.edits.proposal.state")
local lazy = require("claude-ide.lazy")
local apply = lazy("claude-ide.edits.changeset.apply")
local at_exit = lazy("claude-ide.base.at_exit")
local bus = lazy("claude-ide.base.bus")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local guard = lazy("claude-ide.ui.guard")
local notice = lazy("claude-ide.base.notice")
local on_screen = lazy("claude-ide.edits.proposal.on_screen")
local paths = lazy("claude-ide.base.path")
local presenter = lazy("claude-ide.edits.proposal.presenter")
local proposal_files = lazy("claude-ide.edits.proposal.files")
local proposal_view = lazy("claude-ide.edits.proposal.view")
local requests = lazy("claude-ide.requests")
local typing = lazy("claude-ide.ui.guard.typing")
local waits = lazy("claude-ide.base.waits")
local window = lazy("claude-ide.ui.guard.window")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

---Shows a proposed edit; its requester gets the decision. A plan with `unasked` is applied at once.
---@param requester claude-ide.requests.Requester
---@param handle any the requester's own data
---@param edit claude-ide.proposal.Edit
---@return claude-ide.Diff
function M.propose(requester, handle, edit)
  M.attach()
  local normalize = paths.normalize
  local files = {} ---@type claude-ide.proposal.File[]
  for index, planned in ipairs(edit.files or {}) do
    local path, from, kind = planned.path, planned.from, planned.kind
    files[index] =
      { path = path, old_path = from or path, from = from, kind = kind, planned = planned, dropped = false }
  end
  if not edit.files then
    local path = normalize(edit.path --[[@as string]])
    files[1] = { path = path, old_path = normalize(edit.old_path or path), dropped = false }
    files[1].proposed, files[1].base = edit.contents, edit.base
  end
  local diff = requests.ask(state.KIND, requester, handle, {
    files = files,
    tab_name = edit.tab_name or files[1].path,
    note = edit.note,
    plan = edit.plan,
    layout = edit.layout,
    place = edit.place,
  })
  return diff --[[@as claude-ide.Diff]]
end

---Waiting proposals, oldest first.
---@param matches? fun(diff: claude-ide.Diff): boolean
---@return claude-ide.Diff[]
function M.pending(matches)
  return state.pending(matches)
end

---@param diff claude-ide.Diff
---@return claude-ide.proposal.Entry?
local function entry_of(diff)
  return state.entry(diff.id)
end

---@param diff claude-ide.Diff
---@return boolean
local function is_here(diff)
  local entry = entry_of(diff)
  return entry ~= nil and entry.view ~= nil and windows.is_current(entry.view)
end

---Whether the user can have seen it.
---@param diff claude-ide.Diff
---@return boolean
local function is_seen(diff)
  local entry = entry_of(diff)
  return entry ~= nil and entry.file.text ~= nil and window.is_seen(state.sight(entry))
end

---The proposal with this id; by default the current tab page's, else the oldest.
---@param id? integer
---@return claude-ide.Diff?
---@return string? err
local function find(id)
  if id then
    local named = M.pending(function(diff)
      return diff.id == id
    end)[1]
    return named, not named and ("Diff %d is not open."):format(id) or nil
  end
  local diff = M.pending(is_here)[1] or M.pending()[1]
  return diff, not diff and "No open diffs." or nil
end

---The proposal to decide. One without an id that the user has not seen is shown instead.
---@param id? integer
---@return claude-ide.Diff?
---@return string? err
local function find_to_decide(id)
  local diff, err = find(id)
  if not diff or id or is_seen(diff) then
    return diff, err
  end
  local ok, why = M.focus(diff.id)
  local called = diff.plan and diff.tab_name or vim.fs.basename(diff.files[1].path)
  return nil, not ok and why or ("Look at %s first, then accept or reject."):format(called)
end

---Accepts a proposal with the user's changes.
---@param id? integer default: the current tab page's, else the oldest; it must have been seen
---@return boolean? ok
---@return string? err
function M.accept(id)
  local diff, err = find_to_decide(id)
  if not diff then
    return nil, err
  end
  return presenter.accept(diff)
end

---Rejects a proposal.
---@param id? integer default: as for `accept`
---@param reason? string becomes Claude's next prompt if it runs in our terminal, else it is saved to a register
---@return boolean? ok
---@return string? err
function M.reject(id, reason)
  local diff, err = find_to_decide(id)
  if not diff then
    return nil, err
  end
  presenter.reject(diff, reason)
  return true
end

---Shows a proposal and enters it, even if it waits for a pause in typing.
---@param id? integer default: the oldest
---@param path? string show this file of several
---@return boolean? ok
---@return string? err
function M.focus(id, path)
  local diff, err = find(id)
  local entry = diff and entry_of(diff)
  if not diff then
    return nil, err
  elseif not entry or not entry.file.text then
    return nil, "The diff is still being prepared."
  end
  local locked = waits.why_locked()
  if locked then
    return nil, locked
  end
  guard.forget(diff.id)
  if not presenter.show(entry, { asked = true }) then
    return nil, "The diff cannot be shown."
  end
  windows.focus(entry.view --[[@as claude-ide.diffview.View]])
  for index, file in ipairs(diff.files) do
    if file.path == path then
      proposal_view.show_file(entry, index)
    end
  end
  return true
end

---Decides all waiting proposals. One that the user has not seen is not accepted: the oldest of these is shown.
---@param outcome "accepted"|"rejected"
---@return integer count of decided ones; one that cannot be accepted stays, with a notice
---@return integer unseen number of those that stay since they were not seen
function M.decide_all(outcome)
  local count, unseen = 0, {} ---@type integer, claude-ide.Diff[]
  for _, diff in ipairs(M.pending()) do
    local ok, err = true, nil ---@type boolean?, string?
    if outcome == "accepted" and not is_seen(diff) then
      ok, unseen[#unseen + 1] = false, diff
    elseif outcome == "rejected" then
      presenter.reject(diff)
    else
      ok, err = presenter.accept(diff)
    end
    if err then
      notice.warn(err)
    end
    count = count + ((ok or diff.state ~= "pending") and 1 or 0)
  end
  if unseen[1] then
    M.focus(unseen[1].id)
  end
  return count, #unseen
end

---Goes to the next or previous proposal, cyclically.
---@param direction 1|-1 1: to a newer one
---@return boolean? ok
---@return string? err
function M.step(direction)
  local waiting = M.pending()
  if #waiting == 0 then
    return nil, "No open diffs."
  end
  local at = direction == 1 and 0 or 1
  for i, diff in ipairs(waiting) do
    at = is_here(diff) and i or at
  end
  return M.focus(waiting[(at - 1 + direction) % #waiting + 1].id)
end

---@class claude-ide.proposal.ItemFile
---@field path string
---@field added integer lines
---@field removed integer lines
---@field first? integer line of the first change in the current text

---@class claude-ide.proposal.Item a waiting proposal, for lists and pickers
---@field id integer
---@field source string name of its requester
---@field client? integer nil: not proposed by a client
---@field path string of several files: the first
---@field tab_name string of a plan: the title
---@field files? claude-ide.proposal.ItemFile[] of a plan
---@field added? integer lines; nil: still being prepared
---@field removed? integer lines
---@field first? integer line of the first change in the current text
---@field against? "disk"|"buffer"|"text"|"nothing"
---@field tab? integer tabpage handle; nil: not shown yet
---@field current boolean it is in the current tab page
---@field seen boolean the user can have seen it, so commands without an id may decide it

---@param file claude-ide.proposal.File with its text, or planned
---@return claude-ide.proposal.ItemFile
local function file_of(file)
  local left, first = proposal_files.remaining(file), proposal_files.comparison(file).hunks[1]
  return { path = file.path, added = left.added, removed = left.removed, first = first and first.old }
end

---@param diff claude-ide.Diff
---@return claude-ide.proposal.Item
local function item_of(diff)
  local entry = entry_of(diff) or {} --[[@as claude-ide.proposal.Entry]]
  local text, view = diff.files[1].text, entry.view
  ---@type claude-ide.proposal.Item
  local item = {
    id = diff.id,
    source = diff.requester.name,
    client = diff.requester.client,
    path = diff.files[1].path,
    tab_name = diff.tab_name,
    tab = view and view.tab,
    current = is_here(diff),
    seen = is_seen(diff),
  }
  local files = (diff.plan or text) and vim.tbl_map(file_of, diff.files) or {}
  for index, file in ipairs(files) do
    item.first = index == 1 and file.first or item.first
    item.added, item.removed = (item.added or 0) + file.added, (item.removed or 0) + file.removed
  end
  if diff.plan then
    item.files = files
  else
    item.against = text and text.now.against
  end
  return item
end

---@return claude-ide.proposal.Item[] items oldest first
function M.list()
  return vim.tbl_map(item_of, M.pending())
end

---Number of waiting proposals.
---@return integer
function M.count()
  return state.count()
end

---A requester's turn is over: no further proposal will reuse the windows.
---@param requester claude-ide.requests.Requester
function M.end_of_turn(requester)
  on_screen.end_of_turn(requester)
end

---A requester's call has ended: the accepted edit was written, or the tool failed.
---@param requester claude-ide.requests.Requester
---@param call string
---@param result claude-ide.sessions.ToolResult
function M.call_ended(requester, call, result)
  expected_write.call_ended(requester, call, result)
end

---A requester that reports its calls is gone.
---@param requester claude-ide.requests.Requester
function M.requester_gone(requester)
  expected_write.requester_gone(requester)
end

---Registers the kind of request and subscribes to events, once. Keys are recorded from then on, so that a diff knows whether the user is
---typing.
M.attach = require("claude-ide.base.once")(function()
  requests.register(state.KIND, {
    one = "diff",
    many = "diffs",
    present = function(request)
      presenter.present(request --[[@as claude-ide.Diff]])
    end,
    withdraw = function(request, why)
      presenter.withdraw(request --[[@as claude-ide.Diff]], why)
    end,
    focus = function(request)
      return M.focus(request.id)
    end,
    reject = function(request, round)
      return presenter.reject(request --[[@as claude-ide.Diff]], nil, round)
    end,
    remote = function()
      return require("claude-ide.edits.proposal.remote") --[[@as claude-ide.requests.Remote]]
    end,
  })
  at_exit("accepted changes", function()
    apply.finish_all()
  end)
  bus.on("requests_changed", function()
    proposal_view.recount()
  end)
  bus.on("client_ready", typing.listen)
end)

return M
