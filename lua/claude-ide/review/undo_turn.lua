-- `:Claude undo`: preview, confirmation, and report.
local counted = require("claude-ide.counted")

local M = {}

---Explains why there is nothing to review or undo; never claims that Claude has changed nothing if it has.
---@param start string such as "Nothing to undo"
---@param otherwise string the reason if no file was left out
function M.say_nothing(start, otherwise)
  local turns = require("claude-ide.journal").turns()
  local last = turns[#turns]
  local count = last and last.left_out or 0
  require("claude-ide.ui.notice").info(count > 0 and {
    ("%s: Claude's last turn changed %s of which no copy was made (too large, or kept from it)."):format(
      start,
      counted(count, "file")
    ),
    ("%s: no copy was made of %s."):format(start, counted(count, "changed file")),
  } or start .. ": " .. otherwise)
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
  local unsaved = item.unsaved and "; not saved, for you have unsaved changes" or ""
  if item.behind then
    return "!", "ClaudeDiffWarning", "stays: `:Claude resolve` decides on your unsaved changes first"
  elseif item.action == "leave" then
    return "!", "ClaudeDiffWarning", "stays: you have changed the same lines since"
  elseif item.action == "remove" then
    return "−", "ClaudeDiffRemoved", "will be deleted: Claude made it"
  elseif item.action == "recreate" then
    return "+", "ClaudeDiffAdded", "will be there again" .. left
  end
  return "~", "Changed", counted(item.hunks, "change") .. " taken back" .. left .. unsaved
end

---@param id integer
---@return string the object of "Undo …"
local function name_of(id)
  local turns = require("claude-ide.journal").turns()
  local last = turns[#turns]
  if not last or last.id == id then
    return "Claude's last turn"
  end
  for _, turn in ipairs(turns) do
    if turn.id == id then
      local back = last.id - id
      return ("Claude's turn of %s, %s"):format(
        os.date("%H:%M", turn.started),
        back == 1 and "the one before the last" or ("%d before the last"):format(back)
      )
    end
  end
  return "an earlier turn of Claude's"
end

---The number of a turn's files that commands changed and an undo leaves.
local function left_out(id)
  for _, turn in ipairs(require("claude-ide.journal").turns()) do
    if turn.id == id then
      return turn.left_out
    end
  end
  return 0
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
    widest =
      math.max(widest, vim.fn.strdisplaywidth(vim.fn.strtrans(require("claude-ide.path").short(item.path))))
  end
  for i, item in ipairs(preview) do
    local icon, group, what = describe(item)
    local name = vim.fn.strtrans(require("claude-ide.path").short(item.path))
    local pad = (" "):rep(widest - vim.fn.strdisplaywidth(name))
    lines[i] = (" %s %s%s   %s "):format(icon, name, pad, what)
    marks[i] = { group = group, icon = 1 + #icon, what = 2 + #icon + #name + #pad }
  end
  if unshown > 0 then
    lines[#lines + 1] = (" … and %s "):format(counted(unshown, "more file"))
    marks[#lines] = { group = "ClaudeDiffSide", icon = 1, what = 1 }
  end
  if rest > 0 then
    lines[#lines + 1] = (" ~ %s that commands changed, %s before "):format(
      counted(rest, "more file"),
      rest == 1 and "back to what it was" or "back to what they were"
    )
    marks[#lines] = { group = "Changed", icon = 2, what = 2 }
  end
  if others > 0 then
    lines[#lines + 1] = (" ! %s that commands changed %s "):format(
      counted(others, "more file"),
      others == 1 and "stays as it is" or "stay as they are"
    )
    marks[#lines] = { group = "ClaudeDiffWarning", icon = 2, what = 2 }
  end
  local buf = require("claude-ide.ui.own_buffer").create({ lines = lines, bo = { bufhidden = "wipe" } })
  title = (" Undo %s "):format(title)
  local width = vim.fn.strdisplaywidth(title)
  for i, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
    local at = marks[i]
    local function colour(first, last, group)
      vim.api.nvim_buf_set_extmark(buf, namespace, i - 1, first, { end_col = last, hl_group = group })
    end
    colour(1, at.icon, at.group)
    colour(at.what, #line, "ClaudeDiffSide")
  end
  width = math.min(width, vim.o.columns - 4)
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = math.max(math.floor(vim.o.lines / 3) - #lines, 1),
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    width = width,
    height = #lines,
    style = "minimal",
    border = "rounded",
    title = title,
    title_pos = "center",
    focusable = false,
    noautocmd = true,
  })
  vim.wo[win].wrap = false
  vim.cmd("redraw")
  return function()
    require("claude-ide.window").close(win)
  end
end

---@param results { path: string, ok: boolean, err?: string, left: integer }[]
---@param others integer files that commands changed and the undo leaves
---@param stopped boolean
local function report(results, others, stopped)
  local files, problems = {}, {}
  for _, result in ipairs(results) do
    files[result.path] = files[result.path] or result.ok or nil
    if result.err then
      problems[#problems + 1] = ("%s: %s"):format(require("claude-ide.path").short(result.path), result.err)
    end
  end
  local said = ("Took back Claude's changes in %s"):format(counted(vim.tbl_count(files), "file"))
  if stopped then
    said = said .. ", then stopped: the others stay"
  elseif others > 0 then
    said = ("%s; %d more %s as %s"):format(
      said,
      others,
      others == 1 and "stays" or "stay",
      others == 1 and "it is" or "they are"
    )
  end
  local notice = require("claude-ide.ui.notice")
  if #problems == 0 then
    notice[(others > 0 or stopped) and "warn" or "info"](said .. ".")
    return
  end
  for _, problem in ipairs(problems) do
    require("claude-ide.log").warn("undo: %s", problem)
  end
  if #problems == 1 and #said + #problems[1] + 4 < vim.o.columns then
    notice.warn(("%s. %s"):format(said, problems[1]))
  else
    notice.warn(("%s, %s. `:Claude log` tells more."):format(said, counted(#problems, "problem")))
  end
end

---The running undo.
local undoing ---@type claude-ide.journal.Undoing?

---Interval of progress notices.
local SAY_EVERY_MS = 400

local LOOKING = "Looking what commands changed; then this asks what to take back."
local READY = "An undo asks what to take back"

---Undoes a turn. A large one reports its progress, and `<C-c>` stops it.
---@param id integer
---@param others integer files left
local function take_back(id, others)
  local timer, finished = assert(vim.uv.new_timer()), false
  local going = require("claude-ide.journal.undo").turn(id, function(results, stopped)
    finished, undoing = true, nil
    timer:close()
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
  timer:start(
    SAY_EVERY_MS,
    SAY_EVERY_MS,
    vim.schedule_wrap(function()
      if not finished and vim.api.nvim_get_mode().mode == "n" then
        require("claude-ide.ui.notice").as_neovim(
          ("Taking back: %d of %d files. <C-c> stops."):format(going.tried, going.total)
        )
      end
    end)
  )
end

---@param id? integer default: the last turn with changes left to undo
---@param review_it fun(id: integer) opens the review of the turn
local function ask_now(id, review_it)
  local undo = require("claude-ide.journal.undo")
  id = id or undo.undoable_turn()
  local preview, rest =
    id and undo.preview(id) or {}, id and require("claude-ide.journal.rest").count(id) or 0
  local undoable = vim.tbl_filter(function(item)
    return item.action ~= "leave"
  end, preview)
  if not id or #preview + rest == 0 then
    M.say_nothing("Nothing to undo", "no change of Claude's is left.")
    return
  end
  require("claude-ide.ui.highlights").define_shared()
  local name = name_of(id)
  local others = left_out(id)
  local close = show(preview, name, others, rest)
  local choices = { "Cancel", "Review it first" }
  if #undoable + rest > 0 then
    table.insert(choices, 1, ("Undo in %s"):format(counted(#undoable + rest, "file")))
  end
  require("claude-ide.ui.choose").select(
    choices,
    { prompt = ("Undo what %s changed?"):format(name), is_unasked = true },
    function(_, index)
      close()
      local choice = index and choices[index]
      if choice == "Review it first" then
        review_it(id)
      elseif choice and choice ~= "Cancel" then
        take_back(id, others)
      end
    end
  )
end

---Whether an undo waits for the scan for changes by commands.
local is_waiting = false

---Asks what to undo once the turn's changes are complete: changes by commands have to be detected first.
---@param id? integer default: the last turn with changes left to undo
---@param review_it fun(id: integer) opens the review of the turn
---@return boolean ok
function M.ask(id, review_it)
  local notice = require("claude-ide.ui.notice")
  if undoing or is_waiting then
    notice.info(undoing and "An undo goes on still: <C-c> stops it." or LOOKING)
    return true
  end
  is_waiting = true
  local guard = require("claude-ide.ui.guard")
  local request = guard.ask()
  require("claude-ide.journal").when_known(function()
    -- Keys typed before are not an answer.
    guard.when_asked("undo", READY, function()
      is_waiting = false
      ask_now(id, review_it)
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
