-- `:Claude undo`: preview, confirmation, and report.
local counted = require("claude-ide.base.counted")
local lazy = require("claude-ide.lazy")
local attribution = lazy("claude-ide.edits.journal.attribution")
local border = lazy("claude-ide.ui.border")
local choose = lazy("claude-ide.ui.choose")
local guard = lazy("claude-ide.ui.guard")
local highlights = lazy("claude-ide.ui.highlights")
local journal = lazy("claude-ide.edits.journal")
local listed = lazy("claude-ide.base.listed")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local paths = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local shell = lazy("claude-ide.edits.journal.shell")
local store = lazy("claude-ide.edits.journal.store")
local terminals = lazy("claude-ide.terminal")
local timers = lazy("claude-ide.base.timer")
local undo = lazy("claude-ide.edits.journal.undo")
local untracked = lazy("claude-ide.edits.journal.untracked")
local window = lazy("claude-ide.base.window")

local M = {}

---Explains why there is nothing to review or undo; never claims that Claude has changed nothing if it has.
---@param start string such as "Nothing to undo"
---@param otherwise string the reason if no file was left out
function M.say_nothing(start, otherwise)
  local turns = journal.turns()
  local last = turns[#turns]
  local count, unknown = last and last.left_out or 0, last and attribution.unknown(last.id) or {}
  if count == 0 and unknown[1] then
    return notice.info(("%s: %s."):format(start, attribution.describe(unknown)))
  end
  local usual = ("%s: %s"):format(start, otherwise)
  if count == 0 and last and shell.why_unseen(last.id) == "no repository" then
    return notice.info({
      usual .. " What commands change is seen only in git repositories.",
      start .. ": what commands change is seen only in git repositories.",
    })
  end
  notice.info(count > 0 and {
    ("%s: no copy was made of %s that Claude's last turn changed (too large, or private)."):format(
      start,
      counted(count, "file")
    ),
    ("%s: no copy was made of %s."):format(start, counted(count, "changed file")),
  } or usual)
end

local namespace = vim.api.nvim_create_namespace("claude-ide.review.undo_turn")

---@param item claude-ide.journal.Preview
---@return string icon
---@return string group
---@return string what
local function describe(item)
  local left = item.conflicts > 0
      and ("; %s you changed too %s"):format(
        counted(item.conflicts, "place"),
        item.conflicts == 1 and "stays" or "stay"
      )
    or ""
  local unsaved = item.unsaved and "; not saved, since you have unsaved changes" or ""
  if item.stays and item.action == "leave" then
    return "!", "ClaudeDiffWarning", "stays: " .. item.stays
  elseif item.behind then
    return "!", "ClaudeDiffWarning", "stays: resolve your unsaved changes first (`:Claude resolve`)"
  elseif item.action == "leave" then
    return "!", "ClaudeDiffWarning", "stays: you have changed the same lines since"
  elseif item.action == "remove" then
    return "−", "ClaudeDiffRemoved", "will be deleted (created by Claude)"
  elseif item.action == "recreate" then
    return "+", "ClaudeDiffAdded", "will be restored" .. left
  end
  return "~", "Changed", counted(item.hunks, "change") .. " will be undone" .. left .. unsaved
end

---The client of the session that the user has in the tab page.
---@return integer?
function M.client_here()
  local terminal = terminals.of_tab()
  local here = vim.iter(own.list()):find(function(ours)
    return ours.terminal ~= nil and ours.terminal == terminal or ours.other ~= nil and ours.other.visible
  end)
  return here and own.journal_client(here)
end

---Cells for the name of a session in a question.
local SESSION_WIDTH = 30

---@param client integer
---@return string
local function session_of(client)
  for _, ours in ipairs(own.list()) do
    if own.journal_client(ours) == client then
      local name = ours.terminal and ours.terminal:name() or ours.other and ours.other.name
      return phrases.fit(vim.fn.strtrans(name or phrases.title(ours.session)), SESSION_WIDTH)
    end
  end
  return "another session"
end

---@param id integer
---@return string the object of "Undo …"
local function name_of(id)
  local turn, turns = store.turn(id), journal.turns()
  if not turn then
    return "an earlier turn of Claude's"
  end
  local its = vim.tbl_filter(function(other)
    return other.client == turn.client
  end, turns)
  local whose = #its < #turns and (" in %s"):format(session_of(turn.client)) or ""
  local back = 0
  while its[#its - back].id ~= id do
    back = back + 1
  end
  if back == 0 then
    return "Claude's last turn" .. whose
  end
  return ("Claude's turn of %s%s, %s"):format(
    os.date("%H:%M", turn.started),
    whose,
    back == 1 and "the one before the last" or ("%d before the last"):format(back)
  )
end

---Opens the preview window.
---@param preview claude-ide.journal.Preview[]
---@param title string
---@param others integer files that commands changed and the undo leaves
---@param rest integer files to undo that no review shows
---@return fun() close
local function show(preview, title, others, rest)
  local lines, widest, marks = {}, 0, {}
  local room = math.max(vim.o.lines - 12, 2) - (others > 0 and 1 or 0) - (rest > 0 and 1 or 0)
  local unshown = math.max(#preview - room, 0)
  unshown = unshown > 0 and unshown + 1 or 0 -- for the line with their number
  preview = vim.list_slice(preview, 1, #preview - unshown)
  for _, item in ipairs(preview) do
    widest = math.max(widest, vim.fn.strdisplaywidth(vim.fn.strtrans(paths.short(item.path))))
  end
  for i, item in ipairs(preview) do
    local icon, group, what = describe(item)
    local name = vim.fn.strtrans(paths.short(item.path))
    local pad = (" "):rep(widest - vim.fn.strdisplaywidth(name))
    lines[i] = (" %s %s%s   %s "):format(icon, name, pad, what)
    marks[i] = { group = group, icon = 1 + #icon, what = 2 + #icon + #name + #pad }
  end
  if unshown > 0 then
    lines[#lines + 1] = (" … and %s "):format(counted(unshown, "more file"))
    marks[#lines] = { group = "ClaudeDiffSide", icon = 1, what = 1 }
  end
  if rest > 0 then
    lines[#lines + 1] = (" ~ %s that commands changed will be restored "):format(counted(rest, "more file"))
    marks[#lines] = { group = "Changed", icon = 2, what = 2 }
  end
  if others > 0 then
    lines[#lines + 1] = (" ! %s that commands changed %s "):format(
      counted(others, "more file"),
      others == 1 and "stays as it is" or "stay as they are"
    )
    marks[#lines] = { group = "ClaudeDiffWarning", icon = 2, what = 2 }
  end
  local buf = own_buffer.create({ lines = lines, bo = { bufhidden = "wipe" } })
  title = (" Undo %s "):format(title)
  local width = vim.fn.strdisplaywidth(title)
  for i, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
    local at = marks[i]
    local function colour(first, last, group)
      vim.api.nvim_buf_set_extmark(buf, namespace, i - 1, first, { end_col = last, hl_group = group })
    end
    if at then
      colour(1, at.icon, at.group)
      colour(at.what, #line, "ClaudeDiffSide")
    end
  end
  width = math.min(width, vim.o.columns - 4)
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = math.max(math.floor(vim.o.lines / 3) - #lines, 1),
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    width = width,
    height = #lines,
    style = "minimal",
    border = border(),
    title = title,
    title_pos = "center",
    focusable = false,
    noautocmd = true,
  })
  vim.wo[win].wrap = false
  vim.cmd("redraw")
  return function()
    window.close(win)
  end
end

---Cells for the names of files in a question, which a picker shows in a narrow window.
local NAMES_WIDTH = 60

---As many of the texts as fit, and the number of the others.
---@param texts string[]
---@param width integer
---@return string
local function fitting(texts, width)
  for count = math.min(#texts, width), 2, -1 do
    local words = listed(texts, count)
    if vim.fn.strdisplaywidth(words) <= width then
      return words
    end
  end
  return listed(texts, 1)
end

---@param path string
---@return string
local function name_of_file(path)
  return vim.fn.strtrans(paths.short(path))
end

---What an undo of a turn leaves as it is.
---@param preview claude-ide.journal.Preview[]
---@param others string[] paths of files that commands changed and the undo leaves
---@return string[]
local function what_stays(preview, others)
  local found = {}
  for _, item in ipairs(preview) do
    local name = name_of_file(item.path)
    if item.action == "leave" then
      found[#found + 1] = name
    elseif item.conflicts > 0 then
      found[#found + 1] = ("%s in %s"):format(counted(item.conflicts, "place"), name)
    end
  end
  return vim.list_extend(found, vim.tbl_map(name_of_file, others))
end

local AFTER = { remove = " (deleted)", recreate = " (back)" }

---@param undoable claude-ide.journal.Preview[]
---@param rest integer files to undo that no review shows
---@return string
local function yes(undoable, rest)
  local names = vim.tbl_map(function(item)
    return name_of_file(item.path) .. (AFTER[item.action] or "")
  end, undoable)
  if #names == 0 then
    return ("Undo in %s that commands changed"):format(counted(rest, "file"))
  end
  local more = rest > 0 and ("; %d that commands changed"):format(rest) or ""
  return ("Undo in %s: %s%s"):format(counted(#undoable + rest, "file"), fitting(names, NAMES_WIDTH), more)
end

---@param results claude-ide.journal.Undone[]
---@param others table<string, string> files that the undo leaves, and why
---@param stopped boolean
local function report(results, others, stopped)
  local files, names, reasons, unsaved = {}, {}, {}, {}
  ---@param name string
  ---@param reason string
  local function stays(name, reason)
    names[#names + 1], reasons[#reasons + 1] = name, ("%s: %s"):format(name, (reason:gsub("%.$", "")))
    log.warn("undo: %s", reasons[#reasons])
  end
  for _, result in ipairs(results) do
    files[result.path] = files[result.path] or result.ok or nil
    if result.ok and result.err then
      unsaved[#unsaved + 1] = name_of_file(result.path)
    end
    if result.err and not result.ok then
      stays(name_of_file(result.path), result.err)
    elseif result.left > 0 then
      stays(
        ("%s in %s"):format(counted(result.left, "place"), name_of_file(result.path)),
        "you have changed the same lines since"
      )
    end
  end
  for path, why in vim.spairs(others) do
    stays(name_of_file(path), why)
  end
  local count = counted(vim.tbl_count(files), "file")
  local but = unsaved[1] and (", not saved in %s"):format(fitting(unsaved, NAMES_WIDTH)) or ""
  local said = ("Undid Claude's changes in %s%s"):format(count, but)
  if stopped then
    said = said .. ", then stopped: the others stay"
  end
  if #names == 0 then
    local say = (stopped or unsaved[1]) and notice.warn or notice.info
    return say(said .. ".")
  end
  local some = ("%s undone. Stays: %%s: `:Claude log`."):format(count .. but)
  notice.warn({
    ("%s. Stays: %s."):format(said, table.concat(reasons, "; ")),
    some:format(fitting(names, vim.v.echospace - #some)),
  })
end

---The running undo.
local undoing ---@type claude-ide.journal.Undoing?

---Interval of progress notices.
local SAY_EVERY_MS = 400

local LOOKING = "Looking for changes by shell commands; then you choose what to undo."
local READY = "An undo asks what to undo"

---Undoes a turn. A large one reports its progress, and `<C-c>` stops it.
---@param id integer
---@param others table<string, string> files that the undo leaves, and why
local function take_back(id, others)
  local timer, finished = timers.new("say how far an undo is"), false
  local going = undo.turn(id, function(results, stopped)
    finished, undoing = true, nil
    timer:stop()
    vim.on_key(nil, namespace)
    report(results, others, stopped)
  end)
  if finished then
    return
  end
  undoing = going
  vim.on_key(function(key)
    if key == "\3" then
      going.stop()
    end
  end, namespace)
  timer:every(SAY_EVERY_MS, function()
    if vim.api.nvim_get_mode().mode == "n" then
      notice.as_neovim(("Undoing %d of %d files. <C-c> stops."):format(going.tried, going.total))
    end
  end)
end

---@param id? integer default: the last turn with changes left to undo
---@param client? integer whose turn it is by default, if it has one
---@param review_it fun(id: integer) opens the review of the turn
local function ask_now(id, client, review_it)
  id = id or client and undo.undoable_turn(client) or undo.undoable_turn()
  local preview, rest = id and undo.preview(id) or {}, id and untracked.count(id) or 0
  local undoable = vim.tbl_filter(function(item)
    return item.action ~= "leave"
  end, preview)
  if not id or #preview + rest == 0 then
    M.say_nothing("Nothing to undo", "no change of Claude's is left.")
    return
  end
  highlights.define_shared()
  local name = name_of(id)
  local left_out = store.left_out(id)
  local others = {} ---@type table<string, string>
  for _, path in ipairs(attribution.unknown(id)) do
    others[path] = "it may be yours"
  end
  for _, path in ipairs(left_out) do
    others[path] = "no copy was made"
  end
  -- A picker of the user's may cover the preview: the question tells the same in short.
  local close = choose.is_plain() and show(preview, name, #left_out, rest) or function() end
  local choices = { "Cancel", "Review it first" }
  if #undoable + rest > 0 then
    table.insert(choices, 1, yes(undoable, rest))
  end
  local leaves = vim.tbl_keys(others)
  table.sort(leaves)
  local left = what_stays(preview, leaves)
  local prompt = ("Undo what %s changed?"):format(name)
  if #left > 0 then
    prompt = ("%s Stays: %s"):format(prompt, fitting(left, NAMES_WIDTH))
  end
  choose.select(choices, { prompt = prompt, is_unasked = true }, function(_, index)
    close()
    local choice = index and choices[index]
    if choice == "Review it first" then
      review_it(id)
    elseif choice and choice ~= "Cancel" then
      take_back(id, others)
    end
  end)
end

---Whether an undo waits for the scan for changes by commands.
local is_waiting = false

---Asks what to undo once the turn's changes are complete: changes by commands have to be detected first.
---@param id? integer default: the last turn with changes left to undo, of the session in the tab page if it has one
---@param review_it fun(id: integer) opens the review of the turn
---@return boolean ok
function M.ask(id, review_it)
  if undoing or is_waiting then
    notice.info(undoing and "An undo is still running: <C-c> stops it." or LOOKING)
    return true
  end
  is_waiting = true
  local request, client = guard.request(), M.client_here()
  journal.when_known(function()
    -- Keys typed before are not an answer.
    guard.when_requested("undo", READY, function()
      is_waiting = false
      ask_now(id, client, review_it)
    end, request)
  end)
  vim.defer_fn(function()
    if is_waiting then
      notice.info(LOOKING)
    end
  end, SAY_EVERY_MS)
  return true
end

return M
