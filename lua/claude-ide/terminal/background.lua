-- Sessions in the background: a service of the CLI runs them, without Neovim and its connection. Hands over the session of a process that
-- is to end, and opens or stops one. Measured (CLI 2.1.329, 2.1.332): doc/dev/sessions.md.
-- Invariants: one process has a session: the other has ended before. What limits a CLI is passed on, and the permission mode.
local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local config = lazy("claude-ide.config")
local environment = lazy("claude-ide.terminal.environment")
local hooks = lazy("claude-ide.terminal.hooks")
local ide_sessions = lazy("claude-ide.sessions")
local kept_words = lazy("claude-ide.ui.kept_words")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local path = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local retry = lazy("claude-ide.base.retry")
local sessions_live = lazy("claude-ide.sessions.live")
local terminals = lazy("claude-ide.terminal")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---A session to hand over.
---@class claude-ide.sessions.Leaving
---@field id string
---@field pid integer
---@field cwd string
---@field config_dir? string
---@field started? integer
---@field name? string given by the user
---@field args string[] those that its CLI was started with
---@field is_held fun(): boolean the user's hooks have a prompt of it
---@field release fun(done: fun(unsent: string[])) ends its process; `done` gets the prompts that were not sent

---Time for the service to start and take a session. Measured: 0.4 to 1.4 s.
local PATIENCE_MS = 30000
---Time until a session has its record.
local BEGIN_MS = 20000
---Time for the CLI to store a prompt. Measured: 0.1 to 1 s, after the user's hooks.
local STORE_MS = 30000
---Time to store a prompt that the user's hooks have let go, or taken.
local LET_GO_MS = 3000
---Time for a process to end. Measured: under 0.1 s.
local END_MS = 10000

---Arguments that a session needs again, by the number of their values. Its transcript has the model, its prompt is not repeated.
---@type table<string, 0|1|2> 2: one or more
local KEPT = {
  ["--add-dir"] = 2,
  ["--agent"] = 1,
  ["--agents"] = 1,
  ["--allow-dangerously-skip-permissions"] = 0,
  ["--allowed-tools"] = 2,
  ["--allowedTools"] = 2,
  ["--append-system-prompt"] = 1,
  ["--bare"] = 0,
  ["--dangerously-skip-permissions"] = 0,
  ["--disable-slash-commands"] = 0,
  ["--disallowed-tools"] = 2,
  ["--disallowedTools"] = 2,
  ["--effort"] = 1,
  ["--fallback-model"] = 1,
  ["--mcp-config"] = 2,
  ["--model"] = 1,
  ["--permission-mode"] = 1,
  ["--plugin-dir"] = 1,
  ["--restricted"] = 0,
  ["--safe-mode"] = 0,
  ["--setting-sources"] = 1,
  ["--settings"] = 1,
  ["--strict-mcp-config"] = 0,
  ["--system-prompt"] = 1,
  ["--tools"] = 2,
}

---@param args string[]
---@return string[]
function M.kept(args)
  local list, values = {}, 0
  for _, word in ipairs(args) do
    local flag = word:match("^%-[^=]*")
    if word == "--" then
      break
    elseif flag then
      local count = KEPT[flag]
      values = count and flag == word and count or 0
      list[#list + 1] = count and word or nil
    elseif values > 0 then
      values = values == 1 and 0 or values
      list[#list + 1] = word
    end
  end
  return list
end

---A command of the CLI's for a session of the background.
---@param live claude-ide.sessions.Live with a job
---@param verb "attach"|"stop"
---@return string[]
local function command_for(live, verb)
  local words = {}
  for _, word in ipairs(config.get().terminal.command) do
    if words[1] and vim.startswith(word, "-") then
      break
    end
    words[#words + 1] = word
  end
  return environment.in_config_dir(vim.list_extend(words, { verb, live.job }), live.config_dir)
end

---@param argv string[]
---@param cwd? string
---@param done fun(err?: string) on the main loop
local function run(argv, cwd, done)
  local options = {
    cwd = cwd,
    env = config.get().terminal.env,
    text = true,
    timeout = PATIENCE_MS,
  }
  local ok, err = pcall(
    vim.system,
    argv,
    options,
    vim.schedule_wrap(function(result)
      local words = vim.trim(result.stderr ~= "" and result.stderr or result.stdout or "")
      words = words ~= "" and words or ("code %d"):format(result.code)
      done(result.code ~= 0 and phrases.plain_line(words) or nil)
    end)
  )
  if not ok then
    done(tostring(err))
  end
end

---@param pid integer
---@param done fun(err?: string)
local function await_end(pid, done)
  retry.until_ended({ pid }, END_MS, function(has_ended)
    done(not has_ended and ("process %d does not end"):format(pid) or nil)
  end)
end

---Waits until the CLI has stored the running turn and prompts: what is not stored ends with its process, and a session's record is earlier.
---@param one claude-ide.sessions.Leaving
---@param done fun(activity?: claude-ide.sessions.Activity) nil: timeout
local function await_turn(one, done)
  local was_held = false -- the record may say "idle" until the turn of that prompt has begun
  local held ---@type { at: integer, queued: integer }? in a turn that runs: last seen then
  retry.until_found(function(answer)
    local is_held = one.is_held()
    was_held = was_held or is_held
    ide_sessions.stored(one.id, one.started, function(stored)
      local live = sessions_live.of_pid(one.pid)
      local activity = live and (was_held and "working" or live.state.activity) or "gone"
      local has_turn = stored ~= nil and stored.turn
      local queued = stored and stored.queued and #stored.queued or 0
      if is_held and has_turn then
        held = { at = vim.uv.now(), queued = held and held.queued or queued }
      end
      local is_let_go = held ~= nil and queued <= held.queued and vim.uv.now() - held.at < LET_GO_MS
      local is_late = is_held or activity == "working" and (not has_turn or is_let_go)
      answer(not is_late and activity or nil)
    end)
  end, STORE_MS, done)
end

---Starts a session in the background. The command succeeds also if the session's process then fails: its record counts.
---@param argv string[]
---@param one claude-ide.sessions.Leaving
---@param done fun(err?: string)
local function begin(argv, one, done)
  run(argv, one.cwd, function(err)
    if err then
      return done(err)
    end
    retry.until_found(
      function(answer)
        local live = catalogue.running(one.id)
        answer(live and live.job)
      end,
      BEGIN_MS,
      function(job)
        done(not job and "it did not start" or nil)
      end
    )
  end)
end

---The CLI goes on with a session in the background, under the same id, where it was interrupted.
---@param one claude-ide.sessions.Leaving its process runs on if its turn is over, or is not stored in time
---@param done fun(err?: string, is_over?: boolean, args?: string[]) once; args: with an error, of a CLI that goes on with it elsewhere
function M.hand_over(one, done)
  ---@param stored claude-ide.sessions.Stored
  ---@param goes_on string[] arguments
  local function argv(stored, goes_on)
    local words = vim.deepcopy(config.get().terminal.command)
    words = hooks.in_place(vim.list_extend(words, M.kept(one.args)))
    vim.list_extend(words, stored.mode and { "--permission-mode", stored.mode } or {})
    vim.list_extend(words, one.name and { "--name=" .. one.name } or {})
    words = vim.list_extend(vim.list_extend(words, { "--bg", "--resume", one.id }), goes_on)
    return environment.in_config_dir(words, one.config_dir)
  end
  ---@param unsent string[]
  local function go_on(unsent)
    ide_sessions.stored(one.id, one.started, function(stored)
      stored = stored or { turn = false }
      -- They ended with the process.
      local queued = table.concat(vim.list_extend(stored.queued or {}, unsent), "\n\n")
      local prompt = terminals.argument(queued)
      begin(argv(stored, vim.list_extend({ "--reply-on-resume" }, prompt)), one, function(failed)
        if not failed then
          return done()
        end
        -- The flag is not documented: a CLI without it is told by a prompt.
        log.warn("a session did not go on in the background: %s", failed)
        begin(argv(stored, { vim.trim("Go on.\n\n" .. queued) }), one, function(err)
          local args = vim.list_extend(M.kept(one.args), { "--resume", one.id })
          done(err, false, vim.list_extend(args, prompt))
        end)
      end)
    end)
  end
  await_turn(one, function(activity)
    if activity ~= "working" and activity ~= "waiting" then
      return done(not activity and "its prompt is not stored yet" or nil, activity ~= nil)
    end
    one.release(function(unsent)
      await_end(one.pid, function(err)
        if err then
          kept_words.give_back(table.concat(unsent, "\n\n"), "Claude does not exit")
          done(err)
        else
          go_on(unsent)
        end
      end)
    end)
  end)
end

---Those in the background, of this project.
---@param sessions claude-ide.sessions.Live[]
---@return claude-ide.sessions.Live[]
function M.those_here(sessions)
  local found = vim.tbl_filter(function(live)
    return live.job ~= nil
  end, sessions)
  local folders = found[1] and workspace.folders_and_worktrees() or {} -- read from the disk
  return vim.tbl_filter(function(live)
    return vim.iter(folders):any(function(folder)
      return path.within(live.cwd, folder)
    end)
  end, found)
end

---All of this project, oldest first.
---@return claude-ide.sessions.Live[]
function M.list()
  return M.those_here(ide_sessions.live())
end

---Says what those of this project do, if they work or wait for the user.
function M.say()
  local busy = vim.tbl_filter(function(live)
    return live.state.activity ~= "idle" and not terminals.of_session(live.id)
  end, M.list())
  local doing = phrases.activities(busy)
  if doing then
    local words = #busy == 1 and "A session of Claude is in the background (%s). `:Claude list` has it."
      or "Sessions of Claude are in the background: %s. `:Claude list` has them."
    notice.info(words:format(doing))
  end
end

---Ends a session's process. A failure is shown.
---@param live claude-ide.sessions.Live with a job
---@param done? fun() it has ended
function M.stop(live, done)
  local function ended(err)
    if err then
      notice.error("The background session does not end: " .. err)
    elseif done then
      done()
    end
  end
  run(command_for(live, "stop"), nil, function(err)
    if err then
      return ended(err)
    end
    await_end(live.pid, ended)
  end)
end

---The process that has a session by now, if it is none of the background: in another Neovim, for example.
---@param id string
---@return integer? pid
local function taken(id)
  local live = catalogue.running(id)
  return live and not live.job and live.pid or nil
end

---@param pid integer
local function say_taken(pid)
  notice.warn(("This session now runs in another terminal (pid %d)."):format(pid))
end

---Shows a session in a terminal: attached while it works, since in the background it goes on without an editor; else resumed here, with
---this Neovim as its editor.
---@param live claude-ide.sessions.Live with a job
function M.open(live)
  local terminal, pid = terminals.of_session(live.id), taken(live.id)
  if terminal then
    return terminals.show(terminal)
  elseif pid then
    return say_taken(pid)
  elseif live.state.activity ~= "idle" then
    return terminals.attach(live, command_for(live, "attach"))
  end
  M.stop(live, function()
    pid = taken(live.id)
    if pid then
      return say_taken(pid)
    end
    terminals.new({ "--resume", live.id }, { cwd = live.cwd, name = live.name, config_dir = live.config_dir })
  end)
end

return M
