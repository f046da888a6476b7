-- Health check of Claude's sessions: their files, and records of running ones.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local file = lazy("claude-ide.base.file")
local json_table = lazy("claude-ide.base.json_table")
local phrases = lazy("claude-ide.sessions.phrases")
local process = lazy("claude-ide.base.process")
local retention = lazy("claude-ide.sessions.retention")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local transport = lazy("claude-ide.sessions.transport")

local M = {}

local function check_transcripts(folder)
  local projects = folder .. "/projects"
  local found, why, code = vim.uv.fs_scandir(projects)
  if found then
    vim.health.ok(("The sessions are in %s"):format(vim.fn.fnamemodify(projects, ":~")))
  elseif code == "ENOENT" then
    vim.health.info(("There is no %s yet: no session has had a prompt"):format(projects))
  else
    vim.health.warn(("%s cannot be read: %s"):format(projects, why), {
      "`:Claude sessions`, `:Claude transcript` and `:Claude grep` need it.",
    })
  end
end

local function is_record(path)
  local record = json_table(file.read_start(path, 64 * 1024))
  return record and type(record.pid) == "number" and type(record.sessionId) == "string"
end

---Unreadable records of running processes. A readable record without a known session belongs to an earlier process with the same id.
---@param known table<integer, true>
local function unread_records(folder, known)
  local unread = {}
  local records = folder .. "/sessions"
  for name in vim.fs.dir(records) do
    local pid = tonumber(name:match("^(%d+)%.json$"))
    local path = records .. "/" .. name
    if
      pid
      and not known[pid]
      and process.runs(pid --[[@as integer]])
      and not is_record(path)
    then
      unread[#unread + 1] = path
    end
  end
  return unread
end

---@param session claude-ide.sessions.Live
local function check_session(session)
  local state = session.state
  local does = state.activity == "waiting" and phrases.waits(state.waiting_for)
  local text = ("%s %s (pid %d) in %s %s"):format(
    session.entrypoint == "cli" and "CLI" or "CLI without a screen,",
    session.version or "of an unknown version",
    session.pid,
    vim.fn.fnamemodify(session.cwd, ":~"),
    does or (state.activity == "working" and "works" or "is idle")
  )
  if state.source == "record" then
    vim.health.info(text)
  elseif state.source == "hooks" then
    vim.health.info(text .. ". No record of the state: reported by hooks, without interrupts")
  else
    vim.health.info(text .. ". No record of the state: derived from the transcript, without permissions")
  end
end

---Whether no session has run yet: then nothing is known of what this version of the CLI records.
---@param folders string[]
---@return boolean
local function is_new(folders)
  return #sessions.live() == 0
    and vim.iter(folders):all(function(folder)
      return vim.uv.fs_stat(folder) ~= nil and not vim.uv.fs_stat(folder .. "/projects")
    end)
end

---@param folders string[]
local function check_records(folders)
  local problem = sessions.problem()
  if problem and is_new(folders) then
    return
  elseif problem then
    vim.health.info(problem)
    vim.health.info(
      "So a CLI's state is shown only if `:Claude` started it, as its hooks report it. Everything else works."
    )
    vim.iter(sessions.live()):each(check_session)
    return
  end
  local live, known = sessions.live(), {}
  for _, session in ipairs(live) do
    known[session.pid] = true
  end
  local unread = {}
  for _, folder in ipairs(folders) do
    vim.list_extend(unread, unread_records(folder, known))
  end
  if #unread > 0 then
    vim.health.warn(
      ("The state records of these CLIs are not understood: %s"):format(table.concat(unread, ", ")),
      { "Their version may be newer than this plugin. Their state is not shown; everything else works." }
    )
  else
    vim.health.ok("Running sessions report their state: " .. counted(#live, "session"))
  end
  vim.iter(live):each(check_session)
  for _, client in ipairs(server.clients()) do
    if client.pid and not known[client.pid] then
      vim.health.info(
        (
          "The CLI %s (pid %d) is connected and writes no session record, as those below 2.1: the statusline and the lists do "
          .. "not show its state. `claude update` brings a newer one"
        ):format(client.version or "of an unknown version", client.pid)
      )
    end
  end
end

---Timeouts of the first scan of running sessions, and of the library's response.
local FIRST_LOOK_MS = 500
M.ANSWER_MS = 500

---Reports how changes are detected, since polling delays them.
local function check_watching()
  local mode ---@type string|false|nil
  sessions.watch_mode(function(found)
    mode = found or false
  end)
  vim.wait(M.ANSWER_MS, function()
    return mode ~= nil
  end, 10)
  if mode == "events" then
    vim.health.ok("File changes are reported by the operating system")
  elseif mode == "polling" then
    vim.health.info(
      "The system does not report all file changes (a network file system, too few watches, or processes it does not follow): "
        .. "the files are polled, so changes may show later"
    )
  end
end

---Reports sessions that the CLI deletes soon, and how long it keeps them.
---@param folders string[]
local function check_retention(folders)
  for _, folder in ipairs(folders) do
    local stay = retention.of(folder)
    local place = vim.fn.fnamemodify(folder, ":~")
    local source = stay.path and vim.fn.fnamemodify(stay.path, ":~")
    if vim.uv.fs_stat(folder) and stay.days then
      vim.health.info(
        ("Claude Code deletes the sessions in %s %s after their last message (%s)"):format(
          place,
          counted(stay.days, "day"),
          source and "`cleanupPeriodDays` in " .. source or "its default"
        )
      )
    elseif source then
      vim.health.info(
        ("Claude Code deletes no sessions in %s: %s is not valid, or its `cleanupPeriodDays` is not"):format(
          place,
          source
        )
      )
    end
  end
  local summaries ---@type claude-ide.sessions.Summary[]|false|nil
  sessions.list({ scope = "all" }, function(found)
    summaries = found or false
  end)
  vim.wait(M.ANSWER_MS, function()
    return summaries ~= nil
  end, 10)
  local running, days_left = {}, retention.days_left()
  for _, live in ipairs(sessions.live()) do
    running[live.id] = live
  end
  local soon = vim.tbl_filter(function(summary)
    return days_left({ summary = summary, live = running[summary.id] }) ~= nil
  end, summaries or {})
  if #soon > 0 then
    vim.health.warn(("Claude Code deletes %s within a week"):format(counted(#soon, "session")), {
      "`:Claude sessions all` marks them. `:Claude sessions keep` keeps a copy of one.",
      "With a larger `cleanupPeriodDays` in its settings, Claude Code keeps all of them longer.",
    })
  end
  local kept = vim.tbl_filter(function(summary)
    return summary.kept ~= nil
  end, summaries or {})
  if #kept > 0 then
    vim.health.ok(
      ("%s in %s"):format(
        counted(#kept, "session is kept", "sessions are kept"),
        vim.fn.fnamemodify(transport.kept_dir(), ":~")
      )
    )
  end
end

function M.check()
  vim.health.start("Do sessions show their state?")
  local folders = transport.config_dirs()
  sessions.attach()
  vim.wait(FIRST_LOOK_MS, function()
    return #sessions.live() > 0
  end, 10)
  -- Connected CLIs may have others.
  for _, session in ipairs(sessions.live()) do
    local folder = session.config_dir
    if folder and not vim.list_contains(folders, folder) then
      folders[#folders + 1] = folder
    end
  end
  vim.iter(folders):each(check_transcripts)
  check_retention(folders)
  check_records(folders)
  check_watching()
end

return M
