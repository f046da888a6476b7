-- Puts changesets before the user and ends them as the user decides: the presenter of this kind of decision.
-- In a mode that does not ask, one is applied at once and shown as all that landed is: by the journal.
-- Invariant: nothing is written before it is accepted, and what was accepted is written whole.
local M = {}

---@type table<integer, claude-ide.changeset.View> by decision
local views = {}

---@param changeset claude-ide.Changeset
---@return string
local function summary(changeset)
  local count = #changeset.entries
  return count == 1 and vim.fs.basename(changeset.entries[1].file.path) or ("%d files"):format(count)
end

---Takes a changeset off the screen.
---@param changeset claude-ide.Changeset
local function take_down(changeset)
  require("claude-ide.ui.guard").forget(changeset.id)
  local view = views[changeset.id]
  views[changeset.id] = nil
  if view and vim.v.exiting == vim.NIL then
    view.closing = true
    require("claude-ide.ui.guard.keys").soon(function()
      require("claude-ide.ui.guard.waits").when_windows_may_change(function()
        require("claude-ide.changeset.view").close(view)
      end)
    end)
  end
end

---@param changeset claude-ide.Changeset
---@return claude-ide.changeset.Outcome[]
local function outcomes(changeset)
  return vim.tbl_map(require("claude-ide.changeset.report").outcome, changeset.entries)
end

---@param changeset claude-ide.Changeset
---@return claude-ide.changeset.Job[]
local function jobs_of(changeset)
  local texts, jobs = require("claude-ide.changeset.texts"), {}
  for _, entry in ipairs(changeset.entries) do
    if not texts.left(entry).nothing then
      jobs[#jobs + 1] = { file = entry.file, text = texts.wanted(entry) }
    end
  end
  return jobs
end

---@param changeset claude-ide.Changeset
---@param words? string
---@return boolean settled
function M.reject(changeset, words)
  if changeset.applying then
    return false
  end
  words = words and vim.trim(words) ~= "" and vim.trim(words) or nil
  local settled = require("claude-ide.decisions").settle(changeset, { outcome = "rejected", words = words })
  if settled then
    require("claude-ide.ui.guard.window").decided()
    take_down(changeset)
  end
  return settled
end

---Whether the user leaves all of it as it was proposed.
---@param files claude-ide.changeset.Outcome[]
---@return boolean
local function is_as_proposed(files)
  return vim.iter(files):all(function(file)
    return not file.dropped and not file.edited and file.kept == file.total
  end)
end

---Words for a changeset that nobody waits for any more.
---@param changeset claude-ide.Changeset
---@param words? string
local function give_back(changeset, words)
  if words then
    local why = changeset.applying and "The changes are being written" or "The changes are gone"
    require("claude-ide.ui.kept_words").give_back(words, why)
  end
end

---Says why a changeset is gone, and keeps what the user typed into it.
---@param changeset claude-ide.Changeset
---@param why? string nil: they know
local function say_gone(changeset, why)
  local kept = require("claude-ide.changeset.typed").keep(changeset)
  local called = { path = summary(changeset) } --[[@as claude-ide.Diff]]
  require("claude-ide.diff.closed_notice").say(called, why, kept)
end

---@param changeset claude-ide.Changeset
---@param words? string why something is dropped
---@param failed fun(err: string) nothing is written
local function apply(changeset, words, failed)
  local jobs, files = jobs_of(changeset), outcomes(changeset)
  -- Who proposed it writes what is left as it is; what the user made of it is the editor's to write.
  local is_left = changeset.source.writes == "agent" and is_as_proposed(files)
  local function over(err)
    changeset.applying = false
    if err then
      failed(err)
      local view = views[changeset.id]
      if changeset.state ~= "pending" then
        say_gone(changeset)
        give_back(changeset, words)
      elseif view and not require("claude-ide.diffview.windows").stands(view) then
        view.gone() -- its windows were closed meanwhile
      end
      return
    end
    ---@type claude-ide.changeset.Report
    local report = {
      title = changeset.title,
      files = files,
      asked = not changeset.unasked,
      words = words,
      notes = changeset.notes,
    }
    ---@type claude-ide.changeset.Answer
    local answer = { outcome = "accepted", report = report, jobs = jobs, written = not is_left }
    local is_heard = require("claude-ide.decisions").settle(changeset, answer)
    if not is_heard then
      -- Nobody but the user can be told any more.
      require("claude-ide.ui.notice").warn({
        ("%s: written as you accepted it, before it was taken back. `:Claude undo` undoes that."):format(
          summary(changeset)
        ),
        "Written as you accepted it, before it was taken back.",
      })
      give_back(changeset, words)
    end
    require("claude-ide.ui.guard.window").decided()
    take_down(changeset)
  end
  local applying = require("claude-ide.changeset.apply")
  if is_left then
    return over(applying.obstacle(
      vim.tbl_map(function(job)
        return job.file
      end, jobs),
      function() end
    ))
  end
  changeset.applying = true
  applying.run(
    jobs,
    { client = changeset.source.client, reviewed = not changeset.unasked },
    require("claude-ide.safely").catch(over, function(trace)
      require("claude-ide.log").error("changeset %d cannot be ended: %s", changeset.id, trace)
      require("claude-ide.decisions").fail(
        changeset,
        "written, but the editor cannot say what became of it: see its log"
      )
      take_down(changeset)
    end)
  )
end

---@param files claude-ide.changeset.Outcome[]
---@return integer
local function count_dropped(files)
  local count = 0
  for _, file in ipairs(files) do
    count = count + (file.dropped and math.max(file.total, 1) or file.total - file.kept)
  end
  return count
end

---Accepts what is not dropped. Where something is, the user may say why.
---@param changeset claude-ide.Changeset
---@param failed? fun(err: string) it is to be told elsewhere that nothing is written, and why
function M.accept(changeset, failed)
  if changeset.state ~= "pending" or changeset.applying then
    return
  end
  local notice = require("claude-ide.ui.notice")
  if #jobs_of(changeset) == 0 then
    M.reject(changeset)
    return notice.info("Nothing is left to change, so it counts as rejected.")
  end
  local function go_on(words)
    if changeset.state ~= "pending" or changeset.applying then
      return give_back(changeset, words)
    end
    apply(changeset, words, failed or function(err)
      notice.error(("Nothing was written: %s."):format(err))
    end)
  end
  local dropped = count_dropped(outcomes(changeset))
  if dropped == 0 then
    return go_on()
  end
  local prompt = ("Why not the %s you dropped? (<CR> says nothing, <Esc> goes back) "):format(
    dropped == 1 and "change" or dropped .. " changes"
  )
  vim.ui.input({ prompt = prompt }, function(words)
    if words then
      go_on(vim.trim(words) ~= "" and vim.trim(words) or nil)
    end
  end)
end

---@param changeset claude-ide.Changeset
local function reject_with_reason(changeset)
  vim.ui.input({ prompt = "Why not? " }, function(words)
    if words and not M.reject(changeset, words) then
      give_back(changeset, words)
    end
  end)
end

---@param changeset claude-ide.Changeset
---@return table<claude-ide.changeset.Verb, fun()>
local function verbs_of(changeset)
  local view = require("claude-ide.changeset.view")
  ---@param run fun(shown: claude-ide.changeset.View)
  local function on_view(run)
    return function()
      local shown = views[changeset.id]
      if shown and changeset.state == "pending" and not changeset.applying then
        run(shown)
      end
    end
  end
  local drop_file = on_view(function(shown)
    local entry = view.current(shown)
    entry.dropped = not entry.dropped
    view.refresh(shown)
    if entry.dropped and shown.shown < #shown.entries then
      view.go(shown, 1)
    end
  end)
  return {
    accept = on_view(function()
      M.accept(changeset)
    end),
    reject = on_view(function()
      M.reject(changeset)
    end),
    reject_with_reason = on_view(function()
      reject_with_reason(changeset)
    end),
    hunk = on_view(function(shown)
      local in_list = vim.api.nvim_get_current_win() == shown.wins.list
      if in_list or view.current(shown).file.after == nil or view.current(shown).dropped then
        drop_file()
      elseif shown.pair then
        require("claude-ide.diff.choice").toggle(shown.pair --[[@as claude-ide.diff.View]])
      end
    end),
    undo_file = drop_file,
    next_file = on_view(function(shown)
      view.go(shown, 1)
    end),
    previous_file = on_view(function(shown)
      view.go(shown, -1)
    end),
    layout = on_view(view.switch),
    help = require("claude-ide.changeset.keys").help,
  }
end

---@param changeset claude-ide.Changeset
---@param why? string
function M.withdraw(changeset, why)
  if changeset.applying then
    -- What becomes of it is said when that is known, and then it is no longer on the screen.
    require("claude-ide.changeset.typed").note(changeset)
    return take_down(changeset)
  end
  local view = views[changeset.id]
  local is_seen_going = view ~= nil and require("claude-ide.diffview.windows").is_current(view)
  say_gone(changeset, is_seen_going and why or nil)
  take_down(changeset)
end

---Goes to a changeset, also to one that waits for a pause in typing.
---@param changeset claude-ide.Changeset
---@param focus boolean
---@param path? string of the file to show; default: the one that is shown, or the first
function M.show(changeset, focus, path)
  local view, shown = require("claude-ide.changeset.view"), views[changeset.id]
  if changeset.state ~= "pending" then
    return
  elseif shown then
    view.show_file(shown, path)
    return focus and view.focus(shown) or nil
  end
  require("claude-ide.ui.guard").forget(changeset.id)
  views[changeset.id] = view.open(changeset, verbs_of(changeset), function()
    if changeset.state == "pending" and not changeset.applying then
      say_gone(changeset)
      M.reject(changeset)
    end
  end, focus)
  view.show_file(views[changeset.id], path)
end

---The tab page that shows it.
---@param changeset claude-ide.Changeset
---@return integer? tab
function M.tab(changeset)
  local view = views[changeset.id]
  return view and view.tab
end

---Whether the user has it before them.
---@param changeset claude-ide.Changeset
---@return boolean
function M.is_here(changeset)
  local view = views[changeset.id]
  return view ~= nil and require("claude-ide.diffview.windows").is_current(view)
end

---Whether the user can have seen it.
---@param changeset claude-ide.Changeset
---@return boolean
function M.is_seen(changeset)
  local view = views[changeset.id]
  return view ~= nil and view.pair ~= nil and require("claude-ide.ui.guard.window").is_seen(view.list)
end

---@param changeset claude-ide.Changeset
---@return fun(trace: string)
local function failing(changeset)
  return function(trace)
    require("claude-ide.log").error("changeset %d cannot be shown: %s", changeset.id, trace)
    require("claude-ide.decisions").fail(
      changeset,
      "the editor could not show the changes, nothing was written"
    )
    take_down(changeset)
  end
end

---@param changeset claude-ide.Changeset
function M.present(changeset)
  if changeset.unasked then
    return apply(changeset, nil, function(err)
      require("claude-ide.decisions").fail(changeset, ("nothing was written: %s"):format(err))
    end)
  end
  require("claude-ide.ui.guard.keys").listen()
  require("claude-ide.ui.guard").when_free(changeset.id, summary(changeset), function(typed)
    local focus = require("claude-ide.config").get().diff.focus
    local show = require("claude-ide.safely").catch(M.show, failing(changeset))
    -- In a turn of its own: what worked it out has taken its time.
    vim.schedule(function()
      require("claude-ide.ui.guard.waits").when_windows_may_change(function()
        show(changeset, focus)
        if typed and views[changeset.id] then
          require("claude-ide.ui.guard.window").proposal_opened_while_typing({ views[changeset.id].list })
        end
      end)
    end)
  end)
end

return M
