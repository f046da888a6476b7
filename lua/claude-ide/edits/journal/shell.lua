-- Finds changes by shell commands in a turn: compares checkpoints at its start and end. Whose they are: attribution.lua.
-- Without a known end nothing is compared: changes by others between two prompts must not be attributed to Claude.
local lazy = require("claude-ide.lazy")
local attribution = lazy("claude-ide.edits.journal.attribution")
local checkpoints = lazy("claude-ide.edits.journal.checkpoints")
local client_transcripts = lazy("claude-ide.sessions.client_transcripts")
local counted = lazy("claude-ide.base.counted")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local pending = lazy("claude-ide.edits.journal.pending")
local server = lazy("claude-ide.server")
local slice = lazy("claude-ide.base.slice")
local store = lazy("claude-ide.edits.journal.store")
local untracked = lazy("claude-ide.edits.journal.untracked")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.journal.Watched one turn
---@field client integer
---@field turn integer
---@field folder string
---@field from? claude-ide.journal.Checkpoint
---@field first? claude-ide.journal.Checkpoint at the turn's start
---@field why_unseen? claude-ide.journal.NoCheckpoint
---@field wrote table<string, true> the user's writes in this Neovim since the last checkpoint, as resolved paths

---@type table<integer, claude-ide.journal.Watched> by client
local watched = {}

---@param client claude-ide.Client?
---@return string folder
local function folder_of(client)
  return client and client.roots[1] or workspace.folders()[1]
end

---Handles a new client: its first turn may begin at any moment.
---@param client claude-ide.Client
function M.prepare(client)
  checkpoints.prepare(folder_of(client))
end

---Handles a changed file; call `looked` when its contents are recorded.
---@alias claude-ide.journal.OnFound fun(change: claude-ide.journal.FoundChange, turn: integer, looked: fun())

---Says that a turn is not looked at. A pause of checkpoints is told when it begins.
---@param why_not? claude-ide.journal.NoCheckpoint
local function tell_failure(why_not)
  if why_not == "failed" then
    notice.warn(
      "This turn's changes by shell commands may be missing from the review: git failed or took too long."
    )
  end
end

---Tells which files changed in a turn before its first checkpoint: nobody knows what they were.
---@param entry claude-ide.journal.Watched
---@param checkpoint claude-ide.journal.Checkpoint
local function tell_early(entry, checkpoint)
  local known = {} ---@type table<string, true>
  for _, file in ipairs(store.files(entry.turn)) do
    known[file.real] = true
  end
  local early = vim.tbl_filter(function(path)
    local real = paths.real(path)
    local file = store.find(path)
    return not entry.wrote[real] and not known[real] and not (file and store.turn_of(file.id) == entry.turn)
  end, checkpoint.early)
  if #early == 0 then
    return
  end
  store.leave_out(entry.turn, early)
  notice.warn(
    ("%s changed before Neovim had looked, as git was slow: no review shows %s, and an undo leaves %s."):format(
      counted(#early, "file"),
      #early == 1 and "it" or "them",
      #early == 1 and "it" or "them"
    )
  )
end

---Tells which files changed in a turn that may be of a command's child, or of others.
---@param turn integer
---@param files string[]
local function tell_unknown(turn, files)
  local fresh = attribution.note_unknown(turn, files)
  if fresh[1] then
    notice.info({
      attribution.describe(fresh) .. ", so not in the review.",
      counted(#fresh, "changed file") .. ", maybe of yours: not in the review.",
    })
  end
end

---@class claude-ide.journal.Found what a comparison has found
---@field left_out string[]
---@field rest claude-ide.journal.Rest[]

---Those of Claude's commands.
---@param found claude-ide.journal.Found
---@param is_claudes fun(path: string): boolean
---@param done fun(found: claude-ide.journal.Found)
---@param failed fun()
local function pick(found, is_claudes, done, failed)
  slice.run("tell whose changes they are", function(pause)
    local picked = { left_out = {}, rest = {} } ---@type claude-ide.journal.Found
    for _, path in ipairs(found.left_out) do
      picked.left_out[#picked.left_out + 1] = is_claudes(path) and path or nil
      pause()
    end
    for _, item in ipairs(found.rest) do
      picked.rest[#picked.rest + 1] = is_claudes(item.path) and item or nil
      pause()
    end
    return picked
  end, done, failed)
end

---@param entry claude-ide.journal.Watched
---@param from claude-ide.journal.Checkpoint
---@param now claude-ide.journal.Checkpoint
---@param wrote table<string, true> the user's writes before the checkpoint
---@param ran? claude-ide.sessions.CommandTime[] those of the turn; nil: not known
---@param each claude-ide.journal.OnFound
---@param done fun()
local function tell_between(entry, from, now, wrote, ran, each, done)
  local open = 1
  local function one_less()
    open = open - 1
    if open == 0 then
      done()
    end
  end
  local function edited()
    return vim.tbl_map(function(file)
      return file.real
    end, store.files(entry.turn))
  end
  local judge, is_named = attribution.judge(ran, from, function(path)
    local file = store.find(path)
    return file ~= nil and (store.turn_of(file.id) == entry.turn or vim.list_contains(edited(), file.real))
  end)
  local of_others = {} ---@type table<string, claude-ide.journal.Whose>
  local function is_claudes(path)
    local whose = judge(path)
    of_others[path] = whose ~= "claude" and whose or nil
    return whose == "claude"
  end
  local unwanted = vim.tbl_extend("force", wrote, entry.wrote)
  local function wanted(path)
    local real = paths.real(path)
    return not unwanted[real] and not entry.wrote[real] and is_claudes(path)
  end
  local known = {} ---@type table<string, true>
  ---@param change claude-ide.journal.FoundChange
  local function tell_one(change)
    if not wanted(change.path) then
      return -- written since
    end
    known[paths.real(change.path)] = true
    change.is_start = from == entry.first
    open = open + 1
    each(change, entry.turn, one_less)
  end
  checkpoints.compare(from, now, unwanted, edited(), tell_one, function(left_out, rest, too_many)
    local shown = vim.tbl_count(known)
    pick({ left_out = left_out, rest = rest }, is_claudes, function(found)
      store.leave_out(entry.turn, found.left_out)
      untracked.add(entry.turn, found.rest)
      local others = vim.tbl_count(of_others)
      if too_many and #found.left_out + #found.rest > 0 then
        notice.warn(
          ("Claude's commands changed %d files. `:Claude review` shows %d of them."):format(
            too_many - others,
            shown
          )
        )
      end
      local unknown = vim.tbl_filter(function(path)
        return of_others[path] == "unknown"
      end, vim.tbl_keys(of_others))
      vim.list_extend(unknown, vim.tbl_filter(is_named, vim.tbl_keys(unwanted))) -- by both
      tell_unknown(entry.turn, unknown)
      -- A file that a command changed and an edit restored does not differ, but the edit did not see its contents at the turn's start.
      local met = vim.tbl_filter(function(path)
        return not known[path] and wanted(path)
      end, store.met_in(entry.turn, from.began))
      checkpoints.held(from, met, tell_one, one_less)
    end, one_less)
  end)
end

---@param entry claude-ide.journal.Watched
---@param now claude-ide.journal.Checkpoint?
---@param wrote table<string, true> the user's writes before the checkpoint
---@param each claude-ide.journal.OnFound
---@param done fun()
local function tell(entry, now, wrote, each, done)
  local from = entry.from
  if not now or not from then
    entry.wrote = vim.tbl_extend("force", wrote, entry.wrote)
    return done()
  end
  entry.from = now
  store.copied_for(entry.turn, now.began)
  client_transcripts.commands(entry.client, (entry.first or from).at, function(ran)
    if ran and not ran[1] then
      return done()
    end
    tell_between(entry, from, now, wrote, ran, each, done)
  end)
end

---Returns and clears the user's writes: the next checkpoint includes them, and later differences are not the user's.
---@param entry claude-ide.journal.Watched
---@return table<string, true> wrote
local function take_written(entry)
  local wrote = entry.wrote
  entry.wrote = {}
  return wrote
end

---@param entry claude-ide.journal.Watched
---@param each claude-ide.journal.OnFound
---@param done? fun()
local function compare(entry, each, done)
  local known, wrote = pending.begin(), take_written(entry)
  checkpoints.take(entry.folder, false, function(now, why_not)
    tell_failure(entry.from and why_not)
    tell(entry, now, wrote, each, function()
      known()
      if done then
        done()
      end
    end)
  end)
end

---Starts a turn with a checkpoint to compare its end with.
---@param client integer
---@param turn integer
---@param at integer when Neovim learned of it, in milliseconds since the epoch
---@param works_in? string default: the client's folder
---@param was_running boolean the end of the turn before was not seen: a queued prompt starts at once, so it ends now
---@param each claude-ide.journal.OnFound
function M.begin(client, turn, at, works_in, was_running, each)
  local before = was_running and watched[client] or nil
  local folder = works_in or folder_of(server.client(client))
  local entry = { client = client, turn = turn, folder = folder, wrote = {} } ---@type claude-ide.journal.Watched
  watched[client] = entry
  local is_same = before ~= nil and before.folder == folder
  local known = is_same and pending.begin() or nil
  local wrote = known and before and take_written(before) or {}
  if before and not is_same then
    compare(before, each)
  end
  local is_needed = known
    or pending.is_open()
    or vim.iter(pairs(watched)):any(function(_, other)
      return other ~= entry and other.folder == folder
    end)
  checkpoints.take(folder, not is_needed, function(checkpoint, why_not)
    tell_failure(why_not)
    entry.from, entry.first = checkpoint, checkpoint
    entry.why_unseen = why_not
    if checkpoint then
      store.copied_for(turn, checkpoint.began)
    end
    if known and before then
      tell(before, checkpoint, wrote, each, known)
    elseif checkpoint then
      tell_early(entry, checkpoint)
    end
  end, at)
end

---Records a write by the user.
---@param path string
function M.user_wrote(path)
  if next(watched) ~= nil then
    local real = paths.real(path)
    for _, entry in pairs(watched) do
      entry.wrote[real] = true
    end
  end
end

---@param turn integer a client's last one
---@return claude-ide.journal.NoCheckpoint? why what its commands changed was not seen
function M.why_unseen(turn)
  local entry = vim.iter(vim.tbl_values(watched)):find(function(one)
    return one.turn == turn
  end)
  return entry and entry.why_unseen
end

---Ends a turn, or a part of it: reports each file that differs from its start, with its old contents.
---@param client integer
---@param each claude-ide.journal.OnFound
function M.finish(client, each)
  if watched[client] then
    compare(watched[client], each)
  end
end

---Reports the changes of all running turns so far.
---@param each claude-ide.journal.OnFound
function M.look_again(each)
  for client, entry in pairs(watched) do
    if store.is_running(client) then
      compare(entry, each)
    end
  end
end

---Handles a client's exit, perhaps in the middle of a turn.
---@param client integer
---@param each claude-ide.journal.OnFound
function M.stop(client, each)
  local entry = watched[client]
  local function forget()
    if watched[client] == entry then
      watched[client] = nil
    end
    if next(watched) == nil then
      checkpoints.forget()
    end
  end
  if entry and store.is_running(client) then
    compare(entry, each, forget)
  else
    forget()
  end
end

return M
