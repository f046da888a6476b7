-- The presenter of proposed edits: shows them and settles them.
-- `state` has the waiting proposals, `on_screen` the shown ones; this module informs both of decisions. Those below it act on a diff by
-- the `actions` of its entry.
local lazy = require("claude-ide.lazy")
local acceptance = lazy("claude-ide.edits.proposal.acceptance")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_disk = lazy("claude-ide.editor.buffer.disk")
local comments_round = lazy("claude-ide.comments.round")
local conflict = lazy("claude-ide.edits.watch.conflict")
local event = lazy("claude-ide.config.event")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local files = lazy("claude-ide.edits.proposal.files")
local journal = lazy("claude-ide.edits.journal")
local kept_words = lazy("claude-ide.ui.kept_words")
local list = lazy("claude-ide.ui.diffview.list")
local log = lazy("claude-ide.base.log")
local merge_unsaved = lazy("claude-ide.edits.proposal.merge_unsaved")
local missing_writes = lazy("claude-ide.edits.proposal.missing_writes")
local notice = lazy("claude-ide.base.notice")
local on_screen = lazy("claude-ide.edits.proposal.on_screen")
local one_line = lazy("claude-ide.base.one_line")
local own = lazy("claude-ide.terminal.own")
local position = lazy("claude-ide.base.position")
local queue = lazy("claude-ide.edits.proposal.queue")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local state = lazy("claude-ide.edits.proposal.state")
local typing = lazy("claude-ide.ui.guard.typing")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")
local view = lazy("claude-ide.edits.proposal.view")
local waits = lazy("claude-ide.base.waits")
local window = lazy("claude-ide.ui.guard.window")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

---@param buf integer modified
---@param bytes string on disk
---@param contents string accepted
---@param now claude-ide.proposal.Now
---@param afterwards? claude-ide.proposal.Afterwards
local function keep_unsaved(buf, bytes, contents, now, afterwards)
  afterwards = afterwards or merge_unsaved.typed_meanwhile(buf, now.disk.bytes, contents)
  local disk = buffer_bytes.decode(bytes)
  if not afterwards or not merge_unsaved.settle(buf, afterwards, disk) then
    conflict.consider(buf)
  end
end

---Reloads the file's buffer after the accepted text is written, without a prompt. Unsaved changes stay, and `u` restores the previous text.
---@param path string absolute
---@param bytes string on disk
---@param contents string accepted
---@param now claude-ide.proposal.Now base of the diff
---@param afterwards? claude-ide.proposal.Afterwards with unsaved changes
local function reload(path, bytes, contents, now, afterwards)
  local buf = buffer.loaded(path)
  if not buf then
    return
  elseif vim.bo[buf].modified and (now.against ~= "buffer" or afterwards) then
    return keep_unsaved(buf, bytes, contents, now, afterwards)
  elseif now.against == "buffer" then
    -- The user accepted the diff against the unsaved text, which stays in the undo history.
    vim.bo[buf].modified = false
  end
  local ok, err = pcall(buffer_disk.reload, buf)
  if not ok then
    log.error("could not reload %s: %s", path, err)
  end
end

---@param diff claude-ide.Diff accepted, not of a buffer's text
---@param contents string accepted
---@param afterwards? claude-ide.proposal.Afterwards with unsaved changes
---@param buf? integer the proposal's buffer, if edited by the user
---@return claude-ide.watch.ExpectedWrite
local function expect_write(diff, contents, afterwards, buf)
  local requester, file = diff.requester, diff.files[1]
  local path, now, typed = file.path, file.text and file.text.now, buf and user_edits.copy(buf)
  return expected_write.expect({
    path = path,
    contents = contents,
    before = now and now.disk or {},
    requester = requester,
    call = requester.call and requester.call(diff.handle),
    arrived = function(bytes)
      reload(path, bytes, contents, now --[[@as claude-ide.proposal.Now]], afterwards)
    end,
    refused = function(words, is_there, was_watched)
      missing_writes.report(diff, typed, words, is_there, was_watched)
    end,
  })
end

---@param diff claude-ide.Diff
---@return string
local function question(diff)
  local why = not diff.plan and diff.requester.cannot_hear() -- of a plan the reason is part of the answer
  if not why then
    return "Reason: "
  end
  local place = kept_words.place()
  return one_line.fitting({
    ("Reason (%s: it will be in %s): "):format(why, place),
    ("Reason (goes to %s): "):format(place),
  })
end

---Notifies after insert mode has ended, which would clear a message.
---@param texts fun(): string[] longest first
local function say_later(texts)
  local function now()
    vim.schedule(function()
      notice.info(one_line.fitting(texts()))
    end)
  end
  if vim.api.nvim_get_mode().mode:find("^[iR]") then
    vim.api.nvim_create_autocmd("InsertLeave", {
      once = true,
      desc = "Claude Code: explain why a diff has closed",
      callback = now,
    })
  else
    now()
  end
end

---Reports in one line why a diff was closed by others, and where the user's edits are kept.
---@param diff claude-ide.Diff
---@param why? string nil: the user knows, or has not seen it
---@param kept? integer buffer with the user's edits
local function say_gone(diff, why, kept)
  if not why and not kept then
    return
  end
  say_later(function()
    local gone = why and ("%s: %s."):format(state.name_of(diff), why)
    local where = kept and ("Your edits to the proposal are saved: `:buffer %d`."):format(kept)
    if gone and where then
      return { where .. " " .. gone, where }
    end
    return {
      where or gone --[[@as string]],
    }
  end)
end

---@param name "ClaudeDiffOpened"|"ClaudeDiffClosed"
---@param diff claude-ide.Diff
local function emit(name, diff)
  event.emit(name, {
    id = diff.id,
    client = diff.requester.client,
    path = diff.files[1].path,
    tab_name = diff.tab_name,
    outcome = diff.state ~= "pending" and diff.state or nil,
  })
end

---Actions after a diff is settled.
---@param diff claude-ide.Diff
---@param by_others? boolean
local function after(diff, by_others)
  window.decided()
  local entry = state.entry(diff.id)
  if entry then
    entry.ended_by_others = by_others
    on_screen.close_view(entry)
  end
  emit("ClaudeDiffClosed", diff)
end

---The comments on its files, which go with its rejection, if Claude can get them now.
---@param diff claude-ide.Diff waiting
---@return claude-ide.comments.Round?
local function round_of(diff)
  local round = comments_round.on_files(vim.tbl_map(function(file)
    return file.path
  end, diff.files))
  local why = round and not diff.plan and diff.requester.cannot_hear()
  if why then
    notice.info(("Your comments on it wait: %s. `:Claude comments` lists them."):format(why))
  end
  return not why and round or nil
end

---@param diff claude-ide.Diff
---@param reason? string for the requester
---@param round? claude-ide.comments.Round that goes with it; default: the comments on its files
---@return boolean settled false: it has ended before, or is being written
function M.reject(diff, reason, round)
  if diff.applying or diff.state ~= "pending" then
    return false
  end
  round = round or round_of(diff)
  local session = round and own.of_request(diff)
  local parts = { vim.trim(reason or ""), round and round.text or "" }
  local words = vim.trim(table.concat(parts, "\n\n"))
  ---@param err? string
  local function handed_over(err)
    if round then
      comments_round.handed_over(round, session, err)
    end
  end
  if round then
    comments_round.begin(round.root, round.said)
  end
  local is_told_later = words ~= "" and not diff.plan and diff.requester.tell(words, handed_over)
  local answer = { outcome = "rejected", words = diff.plan and words ~= "" and words or nil }
  local settled = requests.settle(diff, answer)
  if not is_told_later then
    handed_over(not settled and "it has ended" or nil)
  end
  if settled then
    after(diff)
  end
  return settled
end

---Removes a diff that others have ended. The user's edits of it are kept.
---@param diff claude-ide.Diff
---@param why? string reason, for the user
---@param by_user? boolean they have closed it
function M.withdraw(diff, why, by_user)
  local entry = state.entry(diff.id)
  if diff.applying then
    -- The result is reported later, when the diff is no longer shown.
    user_edits.note(diff)
    return entry and on_screen.close_view(entry)
  end
  local is_seen_going = entry ~= nil and entry.view ~= nil and windows.is_within(entry.view)
  local kept = user_edits.keep(diff)
  after(diff, not by_user)
  say_gone(diff, is_seen_going and why or nil, kept)
end

---The user closed its windows or buffers.
---@param diff claude-ide.Diff
local function gone(diff)
  if not diff.applying and requests.settle(diff, { outcome = "rejected" }) then
    M.withdraw(diff, nil, true)
  end
end

---Takes a proposal off the screen, and shows what has become of it.
---@param entry claude-ide.proposal.Entry
local function show_anew(entry)
  local diff = entry.diff
  local is_before_them = entry.view ~= nil and windows.is_within(entry.view)
  window.decided() -- the next key may still be for the previous text
  entry.outdated, entry.ended_by_others = true, true
  typing.soon(function()
    waits.when_windows_may_change(function()
      on_screen.remove(entry)
      if diff.state == "pending" then
        for _, file in ipairs(diff.files) do
          file.text, file.hunks, file.typed = nil, nil, nil
        end
        M.present(diff, is_before_them)
      end
    end)
  end)
end

---Shows a diff again, after its file has changed.
---@param entry claude-ide.proposal.Entry prepared
---@param contents string that it would write
local function renew(entry, contents)
  local file = entry.file
  if entry.outdated then
    return
  end
  local on_top = acceptance.on_top(file.text.now.disk, contents, file.old_path)
  file.proposed, file.on_top = on_top, file.on_top or on_top ~= contents
  show_anew(entry)
end

---A plan could not be applied: shows it again if files have changed meanwhile, on top of their changes.
---@param diff claude-ide.Diff
---@param err string why it could not be
local function renew_plan(diff, err)
  acceptance.renew_plan(diff, function(is_renewed, why_not)
    local entry = state.entry(diff.id)
    if is_renewed and entry then
      notice.warn(err .. ": look at it again, then accept.")
      show_anew(entry)
    else
      notice.error(("Nothing was written: %s."):format(why_not or err))
    end
  end)
end

---A file was written: updates other diffs of it.
local function renew_those_of(path)
  for _, entry in ipairs(state.pending_entries()) do
    local file = entry.diff.files[1]
    if file.path == path and acceptance.is_outdated(entry.diff) then
      local _, bytes = user_edits.typed(file)
      renew(entry, (acceptance.to_write(file, bytes)))
    end
  end
end

---@param diff claude-ide.Diff
local function nothing_left(diff)
  M.reject(diff)
  notice.info(("%s: nothing is left to change, so it counts as rejected."):format(state.name_of(diff)))
end

---@param diff claude-ide.Diff with a plan
---@param failed? fun(err: string) called if nothing is written
local function accept_plan(diff, failed)
  if diff.state ~= "pending" or diff.applying then
    return
  end
  local is_left = acceptance.accept_plan(diff, {
    ended = function()
      after(diff)
    end,
    failed = function(err)
      local entry = state.entry(diff.id)
      if failed then
        failed(err)
      elseif
        diff.state == "pending"
        and entry
        and not (entry.view and not windows.all_windows_open(entry.view))
      then
        renew_plan(diff, err)
      else
        notice.warn(("Nothing was written: %s."):format(err))
      end
      if diff.state ~= "pending" then
        local kept = user_edits.keep(diff)
        say_gone(diff, nil, kept)
        emit("ClaudeDiffClosed", diff)
      elseif entry and entry.view and not windows.all_windows_open(entry.view) then
        gone(diff) -- its windows were closed meanwhile
      end
    end,
  })
  if not is_left then
    nothing_left(diff)
  end
end

---@param diff claude-ide.Diff
---@param failed? fun(err: string) of a plan, which is written later: nothing was written
---@return boolean? accepted falsy: it cannot be; a proposal without changes is rejected
---@return string? err
function M.accept(diff, failed)
  if diff.plan then
    accept_plan(diff, failed)
    return true
  end
  local entry, file = state.entry(diff.id), diff.files[1]
  local buf, bytes = user_edits.typed(file)
  if bytes and not file.base and position.valid(bytes) ~= bytes then
    return nil, "Fix the proposal and accept again: it is not valid UTF-8."
  end
  local name = vim.fs.basename(file.path)
  local contents, afterwards = acceptance.to_write(file, bytes)
  if acceptance.is_empty_new_file(diff, contents) then
    return nil, ("%s: only Claude's own prompt can accept an empty new file."):format(name)
  elseif entry and acceptance.is_outdated(diff) then
    renew(entry, contents)
    return nil, ("Look at it again, then accept: %s has changed meanwhile."):format(name)
  elseif entry and not entry.overwrites and acceptance.is_made_by_others(file, contents) then
    entry.overwrites = true
    return nil, ("Accept again to overwrite %s: another program has created it."):format(name)
  end
  local in_the_file = bytes and afterwards and contents -- without the unsaved changes
  local function is_nothing_left(text)
    return acceptance.is_nothing_left(diff, file, text)
  end
  if file.text and (is_nothing_left(bytes) or in_the_file and is_nothing_left(in_the_file)) then
    nothing_left(diff)
    return true
  end
  local expected = not file.base and diff.state == "pending" and expect_write(diff, contents, afterwards, buf)
  local answer = { outcome = "accepted", contents = contents, on_top = file.on_top }
  if requests.settle(diff, answer) then
    if expected and file.text then
      journal.accepted(file.path, contents)
      expected_write.watch(expected)
    end
    after(diff)
    renew_those_of(file.path)
  end
  return true
end

---Ends a diff that cannot be shown: the CLI writes nothing, and its own prompt decides.
---@param diff claude-ide.Diff
---@return fun(trace: string)
local function failing(diff)
  return function(trace)
    log.error("diff %d of %s cannot be shown: %s", diff.id, diff.files[1].path, trace)
    local why = diff.plan and "the editor could not show the changes, nothing was written"
      or "the editor could not show the diff"
    if requests.fail(diff, why) then
      local name = state.name_of(diff)
      local decide = diff.plan and "" or "Answer in Claude's prompt: "
      notice.error(("%sthe diff of %s cannot be shown."):format(decide, name))
      after(diff)
    end
  end
end

---The user accepts: notifies them if it cannot be.
---@param diff claude-ide.Diff
local function accept_or_say(diff)
  local _, err = M.accept(diff)
  if err then
    notice.warn(err)
  end
end

---The user rejects, and is asked for the reason.
---@param diff claude-ide.Diff
local function reject_with_reason(diff)
  vim.ui.input({ prompt = question(diff) }, function(text)
    if diff.state ~= "pending" or diff.applying then
      -- It may have been answered in the CLI meanwhile.
      acceptance.give_back(diff, text)
    elseif text then
      M.reject(diff, text)
    end
  end)
end

---The only function that brings a diff onto the screen.
---@param entry claude-ide.proposal.Entry
---@param how? claude-ide.proposal.ShowOpts
---@return boolean ok false: failed, and the diff has ended
function M.show(entry, how)
  local diff, was_shown = entry.diff, entry.was_shown
  local show = on_screen.show
  local ok = safely.catch(show, failing(diff))(entry, how)
  if ok and entry.view and not was_shown then
    emit("ClaudeDiffOpened", diff)
  end
  return ok
end

---@param diff claude-ide.Diff
---@return claude-ide.proposal.Entry
local function entry_of(diff)
  local function with_diff(fn)
    return function()
      fn(diff)
    end
  end
  local entry = { diff = diff, file = diff.files[1], shown = 1 } ---@type claude-ide.proposal.Entry
  entry.actions = {
    accept = with_diff(accept_or_say),
    reject = with_diff(M.reject),
    reject_with_reason = with_diff(reject_with_reason),
    gone = with_diff(gone),
    show = function(how)
      M.show(entry, how)
    end,
  }
  return entry
end

---@param diff claude-ide.Diff
---@param at_once? boolean it was shown already, and has changed
function M.present(diff, at_once)
  if diff.plan and diff.plan.unasked then
    return acceptance.apply_plan(diff, nil, {
      ended = function() end,
      failed = function(err)
        requests.fail(diff, ("nothing was written: %s"):format(err))
      end,
    })
  end
  local entry = entry_of(diff)
  if not safely.catch(on_screen.add, failing(diff))(entry) then
    return
  end
  view.prepare_file(entry, 1, function()
    if #diff.files > 1 then
      entry.list = list.make()
      files.render_list(entry)
    end
    if at_once then
      M.show(entry, { asked = true })
      return
    end
    queue.when_idle(entry, function()
      M.show(entry)
    end)
  end, failing(diff))
end

return M
