-- `:Claude follow`: a window goes where Claude reads, changes and finds, as the bridge tells at once and its transcript later, and the
-- user's entering or scrolling pauses it. Of several sessions it follows the one that began, until that has been quiet for a while.
local lazy = require("claude-ide.lazy")
local bridge = lazy("claude-ide.terminal.bridge")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local file_link = lazy("claude-ide.ui.file_link")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local journal = lazy("claude-ide.edits.journal")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local preview = lazy("claude-ide.follow.preview")
local privacy = lazy("claude-ide.server.privacy")
local safely = lazy("claude-ide.base.safely")
local server = lazy("claude-ide.server")
local timers = lazy("claude-ide.base.timer")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Another session is followed if that one has been quiet for so long.
M.QUIET_MS = 5000
---In a storm of calls one is shown in this time, the last one.
local REST_MS = 100
---Steps that are remembered.
local MOST_STEPS = 500

---@class claude-ide.follow.Step a place that Claude was at
---@field id string of the call
---@field path string absolute
---@field kind "read"|"edit"|"create"|"search"
---@field first integer 1-based
---@field last? integer nil: to the end of the file
---@field agent integer number of the agent
---@field name? string of a subagent
---@field who? string the agent, unless it is Claude
---@field said? string
---@field at integer milliseconds since the epoch

---@class claude-ide.follow.Subagent
---@field number integer from 2 on
---@field name? string

---@class claude-ide.follow.Following
---@field preview claude-ide.follow.Preview
---@field since integer milliseconds since the epoch
---@field subagents table<string, claude-ide.follow.Subagent> by id
---@field client? integer the followed one
---@field heard integer when it did something last
---@field paused boolean
---@field next? claude-ide.follow.Step to be shown
---@field resting boolean
---@field timer claude-ide.Timer

---@type claude-ide.follow.Following?
local following

---Where Claude was in the last turn that was followed, oldest first; they outlive the following.
---@type claude-ide.follow.Step[]
local steps = {}
---The step that the user went to last.
local at_step ---@type integer?

local group = vim.api.nvim_create_augroup("claude-ide.follow", { clear = true })

local VERBS = { read = "reads", edit = "edited", create = "created", search = "found" }

---@param step claude-ide.follow.Step
---@return string
local function words(step)
  local who = step.name and ("Claude’s “%s”"):format(step.name) or step.who or "Claude"
  return ("%s %s this"):format(who, VERBS[step.kind])
end

---@param step claude-ide.follow.Step
---@return string
local function name_of(step)
  return vim.fn.strtrans(vim.fs.basename(step.path))
end

---Shows the step that is due.
local function show_next()
  local now = following
  local step = now and now.next
  if not now or not step or now.paused then
    return
  end
  now.next = nil
  local window = now.preview
  if not window:is_ours() or window:is_scrolled() or window.win == vim.api.nvim_get_current_win() then
    return M.pause()
  elseif privacy.denied_by(step.path) then
    return window:say(("%s: %s, which is private"):format(words(step), name_of(step)), step.agent)
  end
  local buf, why_not = hidden.load(step.path)
  if not buf then
    return window:say(
      ("%s: %s, %s"):format(words(step), name_of(step), why_not or "it is not there"),
      step.agent
    )
  end
  local first, last = window:show(buf, step.first, step.last)
  local unsaved = vim.bo[buf].modified and " (unsaved here)" or ""
  local said = step.said and ": " .. step.said or ""
  window:mark(words(step) .. unsaved .. said, step.agent, first, last)
end

---Whether windows can be changed: not in the command-line window, and not under a popup menu.
---@return boolean
local function is_free()
  return vim.fn.getcmdwintype() == "" and vim.fn.pumvisible() == 0
end

---Shows the latest step now, or after a rest.
local function show_soon()
  local now = following
  if not now or now.resting then
    return
  end
  now.resting = true
  now.timer:start(REST_MS, function()
    now.resting = false
    if now.next then
      show_soon()
    end
  end)
  if is_free() then
    safely.wrap("follow Claude", show_next)()
  end
end

---@param client integer
---@param path string
---@return string absolute
local function absolute(client, path)
  local known = server.client(client)
  return paths.normalize(path, known and known.roots[1] or workspace.folders()[1])
end

---Follows a client that did something, unless another one is followed.
---@param client integer
---@return boolean is_followed
local function follow(client)
  local now = following --[[@as claude-ide.follow.Following]]
  if now.client ~= client and now.client and vim.uv.now() - now.heard < M.QUIET_MS then
    return false
  end
  now.client, now.heard = client, vim.uv.now()
  return true
end

---@param subagent? string id
---@return claude-ide.follow.Subagent? nil: the session itself
local function agent_of(subagent)
  local known = (following --[[@as claude-ide.follow.Following]]).subagents
  if subagent and not known[subagent] then
    known[subagent] = { number = vim.tbl_count(known) + 2 }
  end
  return known[subagent]
end

---@param id string of a call
---@return claude-ide.follow.Step?
local function step_of(id)
  for at = #steps, 1, -1 do
    if steps[at].id == id then
      return steps[at]
    end
  end
end

---@class claude-ide.follow.Call
---@field id string
---@field location? claude-ide.sessions.Location
---@field start? integer
---@field end? integer
---@field who? string

---@class claude-ide.follow.Located
---@field id string
---@field location claude-ide.sessions.Location
---@field who string

---@param client integer
---@param calls claude-ide.follow.Call[]
---@param subagent? string id
local function take(client, calls, subagent)
  local now = following
  if not now then
    return
  end
  local located = vim.tbl_filter(function(call)
    return call.location ~= nil and (call["end"] or call.start or 0) >= now.since
  end, calls)
  if not located[1] or not follow(client) then
    return
  end
  local began = journal.began(client)
  if began and steps[1] and steps[#steps].at < began then
    steps, at_step = {}, nil
  end
  local agent, has_news = agent_of(subagent), false
  for _, call in ipairs(located) do
    local location = call.location --[[@as claude-ide.sessions.Location]]
    local known = step_of(call.id)
    ---@type claude-ide.follow.Step
    local step = {
      id = call.id,
      path = absolute(client, location.path),
      kind = location.kind,
      first = location.first,
      last = location.last,
      agent = agent and agent.number or 1,
      name = agent and agent.name,
      said = location.said,
      who = call.who,
      at = call["end"] or clock.now(),
    }
    if known then
      known.said, known.name = step.said, step.name -- the bridge was first, and does not tell these
      has_news = has_news or known == steps[#steps] and (step.said or step.name) ~= nil
    else
      steps[#steps + 1] = step
      has_news = true
    end
    if #steps > MOST_STEPS then
      table.remove(steps, 1)
    end
  end
  if has_news and not now.paused then
    now.next = steps[#steps]
    show_soon()
  end
end

local listen = require("claude-ide.base.once")(function()
  bus.on("calls_ended", function(client, calls, reading)
    local subagent = reading.is_subagent and vim.fs.basename(reading.file):match("^agent%-(.*)%.jsonl$")
      or nil
    local agent = following and agent_of(subagent)
    if agent then
      agent.name = reading.name
    end
    take(client, calls, subagent)
  end)
  bus.on("call_located", function(client, located)
    local call = { id = located.id, location = located.location, who = located.who, ["end"] = clock.now() }
    take(client, { call })
  end)
  bus.on("call_reported", function(client, report)
    ---@type claude-ide.follow.Call
    local call = { id = report.id or "", location = report.location, ["end"] = clock.now() }
    take(client, { call }, report.agent)
  end)
end)

---The user has taken the window: it stays as it is until they say so.
function M.pause()
  local now = following
  if now and not now.paused then
    now.paused, now.next = true, nil
    if now.preview.win == vim.api.nvim_get_current_win() then
      now.preview:hand_over()
    end
    now.preview:say(("paused · %s continues"):format(notice.way_to("follow")), 1)
  end
end

---Ends it. The window stays where it is.
function M.stop()
  local now = following
  following = nil
  if now then
    vim.api.nvim_clear_autocmds({ group = group })
    bridge.watch(false)
    now.timer:stop()
    now.preview:close()
  end
end

---@param now claude-ide.follow.Following
local function watch(now)
  local function is_here()
    return vim.api.nvim_get_current_win() == now.preview.win
  end
  vim.api.nvim_create_autocmd({ "WinEnter", "CursorMoved", "ModeChanged" }, {
    group = group,
    desc = "Claude Code: entering the window that follows Claude pauses it",
    callback = function()
      if not now.paused and is_here() then
        M.pause()
      end
    end,
  })
  vim.api.nvim_create_autocmd("WinScrolled", {
    group = group,
    pattern = tostring(now.preview.win),
    desc = "Claude Code: scrolling the window that follows Claude pauses it",
    callback = function()
      if not now.paused and now.preview:is_scrolled() then
        M.pause()
      end
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(now.preview.win),
    desc = "Claude Code: closing the window that follows Claude ends it",
    callback = M.stop,
  })
end

---@return claude-ide.follow.Following
local function start()
  listen()
  ---@type claude-ide.follow.Following
  local now = {
    preview = preview.open(),
    since = clock.now(),
    subagents = {},
    heard = 0,
    paused = false,
    resting = false,
    timer = timers.new("follow Claude"),
  }
  following = now
  watch(now)
  bridge.watch(true)
  return now
end

---Starts to follow, goes on after a pause, or ends it.
---@return boolean? ok
---@return string? err
function M.toggle()
  if not server.is_running() then
    return nil, "no Claude is connected: `:Claude` starts one"
  end
  local now = following
  if not now then
    start()
    notice.info(("Following Claude. %s ends it."):format(notice.way_to("follow")))
  elseif now.paused and now.preview.win ~= vim.api.nvim_get_current_win() and now.preview:is_ours() then
    now.paused = false
    now.preview.topline = nil
    now.preview:unmark()
    now.next = steps[#steps]
    show_soon()
  elseif now.paused then
    -- The user is in its window, or shows something else there: another window follows.
    M.stop()
    start()
  else
    M.stop()
  end
  return true
end

---Goes to the next or previous place of the turn that was followed last.
---@param by 1|-1
---@return boolean? ok
---@return string? err
function M.step(by)
  if not steps[1] then
    return nil, "no places are known: `:Claude follow` notes them"
  end
  M.pause()
  local wanted = (at_step or (by > 0 and 0 or #steps + 1)) + by
  if not steps[wanted] then
    notice.info(by > 0 and "This is the last place of the turn." or "This is the first place of the turn.")
    return true
  end
  at_step = wanted
  local step = steps[wanted]
  file_link.open({ path = step.path, lnum = step.first }, {}, "file_window")
  notice.info(("%d of %d: %s:%d, %s"):format(wanted, #steps, name_of(step), step.first, words(step)))
  return true
end

---@param word? string "next", "previous" or "stop"
---@return boolean? ok
---@return string? err
function M.command(word)
  if word == "stop" then
    M.stop()
    return true
  elseif word then
    return M.step(word == "next" and 1 or -1)
  end
  return M.toggle()
end

---Whether a window follows Claude now.
---@return "following"|"paused"|nil
function M.state()
  return following and (following.paused and "paused" or "following") or nil
end

---Its window.
---@return integer?
function M.window()
  return following and following.preview.win
end

---The places of the turn that was followed last, oldest first.
---@return claude-ide.follow.Step[]
function M.steps()
  return vim.deepcopy(steps)
end

return M
