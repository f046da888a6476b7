-- The terminals that run the CLI: selects their provider, and the one that commands apply to.
-- A terminal is an object (session.lua). Of several, one is visible in a tab page.

local lazy = require("claude-ide.lazy")
local agent_tools = lazy("claude-ide.terminal.agent_tools")
local bus = lazy("claude-ide.base.bus")
local choose = lazy("claude-ide.ui.choose")
local config = lazy("claude-ide.config")
local editor = lazy("claude-ide.terminal.editor")
local environment = lazy("claude-ide.terminal.environment")
local external = lazy("claude-ide.terminal.provider.external")
local keymaps = lazy("claude-ide.terminal.keymaps")
local mod = lazy("claude-ide.terminal.mod")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local permission_mode = lazy("claude-ide.terminal.permission_mode")
local phrases = lazy("claude-ide.sessions.phrases")
local remembered = lazy("claude-ide.terminal.remembered")
local server = lazy("claude-ide.server")
local sessions_live = lazy("claude-ide.sessions.live")
local terminal_hooks = lazy("claude-ide.terminal.hooks")
local terminal_session = lazy("claude-ide.terminal.session")

local M = {}

---A program to run, with everything that a provider needs.
---@class claude-ide.terminal.Spec
---@field argv string[] program and arguments
---@field cwd string absolute folder
---@field env table<string, string> variables in addition to Neovim's
---@field ide_env table<string, string> those of `env` by which the CLI finds this Neovim
---@field title string for statuslines
---@field name? string given by the user
---@field in_background? boolean show it without moving the focus
---@field args string[] arguments of the user or of a command
---@field mod? string a file that goes with the CLI
---@field job? string it only shows this session of the background (`claude-ide.sessions.Live`)

---Called once, when the CLI has exited. `closing`: its window is closed, as after a clean exit.
---@alias claude-ide.terminal.OnExit fun(code: integer, closing: boolean)

---Shows a terminal. `handle` is the result of `open`.
---@class claude-ide.terminal.Provider
---@field open fun(spec: claude-ide.terminal.Spec, on_exit: claude-ide.terminal.OnExit): handle: any, err: string? starts, shows and focuses it
---@field show fun(handle: any) shows it in the current tab page
---@field hide fun(handle: any) the CLI keeps running
---@field focus fun(handle: any) focuses it; it is visible
---@field is_visible fun(handle: any): boolean whether it is on the current tab page
---@field close fun(handle: any) terminates the CLI
---@field bufnr? fun(handle: any): integer? its buffer, if any
---@field pid? fun(handle: any): integer? the CLI's process, or one above it: without a buffer, the CLI has ended when that has
---@field check? fun(spec: claude-ide.terminal.Spec): boolean, string? whether it is available; reason if not

---Oldest first.
---@type claude-ide.terminal.Session[]
local sessions = {}
local next_id = 1
---Name of a terminal's CLI for the editor's tools.
---The server knows such a run by its first word (crates/server/src/client/lifecycle.rs).
local RUN = "terminal:%d"

---The terminals whose CLI runs, oldest first.
---@return claude-ide.terminal.Session[]
function M.list()
  return vim.tbl_filter(function(session)
    return session:is_alive()
  end, sessions)
end

---@param fits fun(session: claude-ide.terminal.Session): boolean
---@return claude-ide.terminal.Session?
local function find(fits)
  return vim.iter(M.list()):find(fits)
end

---The last used one of some terminals.
---@param those claude-ide.terminal.Session[]
---@return claude-ide.terminal.Session?
function M.last_used(those)
  local last ---@type claude-ide.terminal.Session?
  for _, session in ipairs(those) do
    last = last and last.used > session.used and last or session
  end
  return last
end

---The terminal of the current tab page: one that is visible there or, with `terminal.per_tab`, was used there.
---@return claude-ide.terminal.Session?
function M.of_tab()
  local tab = config.get().terminal.per_tab and vim.api.nvim_get_current_tabpage()
  return M.last_used(vim.tbl_filter(function(session)
    return session.tab == tab or session:is_visible()
  end, M.list()))
end

---The terminal that prompts and mentions go to: the tab page's, else the last used one.
---@return claude-ide.terminal.Session?
function M.current()
  return M.of_tab() or M.last_used(M.list())
end

---The terminal that commands show, hide and end.
---@return claude-ide.terminal.Session?
local function meant()
  return M.of_tab() or not config.get().terminal.per_tab and M.current() or nil
end

---The terminal whose CLI is this process.
---@param pid? integer
---@return claude-ide.terminal.Session?
function M.of_process(pid)
  return find(function(session)
    return session:has_process(pid)
  end)
end

---Whether the user is in the terminal that a process runs in, also one of their own, or in a file that a program there has opened for
---them (`$EDITOR`): they did not leave it.
---@param pid? integer
---@return boolean
function M.is_focused_on(pid)
  local session = M.of_process(pid)
  if session then
    return session:is_focused()
      or vim.list_contains(editor.buffers_of(session), vim.api.nvim_get_current_buf())
  end
  local job = vim.bo.buftype == "terminal" and vim.b.terminal_job_pid or nil
  return pid ~= nil and job ~= nil and sessions_live.is_below(pid, job)
end

---What the user calls a CLI that asks or is sent something.
---@param client? claude-ide.Client
---@return string name "Claude" if at most one terminal runs, or it runs elsewhere
function M.name_of(client)
  local session = client and #M.list() > 1 and M.of_process(client.pid)
  return session and session:name() or "Claude"
end

---The terminal whose CLI runs a session.
---@param id string
---@return claude-ide.terminal.Session?
function M.of_session(id)
  return find(function(session)
    local live = session:live()
    return live ~= nil and live.id == id and live.state.activity ~= "gone"
  end)
end

---The terminal of a buffer.
---@param buf integer
---@return claude-ide.terminal.Session?
function M.of_buffer(buf)
  return find(function(session)
    return session:bufnr() == buf
  end)
end

---The terminal whose CLI is named `run` (`claude-ide.Client.run`).
---@param run string
---@return claude-ide.terminal.Session?
function M.of_run(run)
  return find(function(session)
    return run == RUN:format(session.id)
  end)
end

---@return claude-ide.terminal.Provider
local function provider()
  local chosen = config.get().terminal.provider
  if type(chosen) == "table" then
    return chosen
  end
  local is_program = external.PROGRAMS[chosen]
  return require("claude-ide.terminal.provider." .. (is_program and "external" or chosen))
end

---Starts the server, whose port the CLI needs to find this Neovim. Without it the CLI runs unconnected.
---@return integer? port
local function start_server()
  local info, err = server.start()
  if not info then
    local why = tostring(err)
    notice.warn(one_line.fitting({ "Claude runs without this Neovim: " .. why, why }))
    return nil
  end
  return info.port
end

---@class claude-ide.terminal.OpenOptions
---@field cwd? string default: as configured
---@field purpose? string meaning of the arguments, for the question whether to end a running CLI
---@field before? fun(go_on: fun()) called before a CLI is started with the arguments
---@field name? string of the terminal and its session
---@field config_dir? string of the session that is resumed

---@return string title "Claude", or "Claude 2" beside it
local function free_title()
  local function is_taken(title)
    return find(function(session)
      return session.spec.title == title
    end) ~= nil
  end
  local number, title = 1, "Claude"
  while is_taken(title) do
    number = number + 1
    title = ("Claude %d"):format(number)
  end
  return title
end

---@class claude-ide.terminal.StartOptions
---@field cwd? string default: as configured
---@field name? string
---@field config_dir? string
---@field in_background? boolean

---@param args string[]
---@param wanted claude-ide.terminal.StartOptions
---@return claude-ide.terminal.Spec? spec
---@return string? why reason if it cannot run
local function spec_of(args, wanted)
  local options = config.get().terminal
  local cwd, why = environment.check(wanted.cwd)
  if not cwd then
    return nil, why
  end
  local ide_env, given = environment.of(start_server(), vim.fn.environ()), args
  local argv, archive = vim.deepcopy(options.command), nil ---@type string[], string?
  if options.provider ~= "none" then
    local mode, hooks = permission_mode.of(argv, args), {} ---@type string[], string[]
    argv, hooks, args = terminal_hooks.of(argv, args, cwd)
    vim.list_extend(argv, mode)
    vim.list_extend(argv, agent_tools.of(RUN:format(next_id)))
    vim.list_extend(argv, hooks)
    archive = mod.archive(RUN:format(next_id))
    argv[#argv + 1] = archive and "--plugin-dir=" .. archive -- with `=`, see terminal/agent_tools.lua
  end
  return {
    argv = environment.in_config_dir(vim.list_extend(argv, args), wanted.config_dir),
    cwd = cwd,
    env = vim.tbl_extend("force", ide_env, editor.environment(), options.env),
    ide_env = ide_env,
    title = wanted.name or free_title(),
    name = wanted.name,
    args = given,
    mod = archive,
    in_background = wanted.in_background,
  }
end

---Hides the terminals of the tab page.
function M.make_room()
  for _, session in ipairs(sessions) do
    session:hide()
  end
end

---Hides what is in the way of a terminal: the tab page's other terminals, and chats if there is no room for both.
local function make_room()
  if not modifiers.opens_tab() then
    M.make_room()
    bus.emit("terminal_opens")
  end
end

---Shows a terminal, in place of another one; with `terminal.per_tab` in its own tab page.
---@param session claude-ide.terminal.Session
function M.show(session)
  if not session:is_alive() and not session:is_visible() then
    return notice.info("That CLI has ended.") -- while the user chose what to do with it
  end
  local per_tab = config.get().terminal.per_tab
  if per_tab and vim.api.nvim_tabpage_is_valid(session.tab) then
    vim.api.nvim_set_current_tabpage(session.tab)
  end
  if not session:is_visible() then
    make_room()
  end
  session:focus()
end

---Removes terminals that were shown until now because their CLI had exited with an error.
local function close_ended()
  for _, session in ipairs(sessions) do
    if not session:is_alive() then
      session:close()
    end
  end
  sessions = M.list()
end

---A prompt as the CLI's argument: one that begins with a dash would be an option, and one word could be a command, as `update`.
---@param prompt string
---@return string[] none for an empty one
function M.argument(prompt)
  local is_taken = prompt:find("^%-") or prompt:find("^%w[%w-]*$")
  return prompt ~= "" and { (is_taken and " " or "") .. prompt } or {}
end

---@param spec claude-ide.terminal.Spec
---@return claude-ide.terminal.Session? session
---@return string? err also shown
local function begin(spec)
  local with = provider()
  local ok, why = true, nil ---@type boolean, string?
  if with.check then
    ok, why = with.check(spec)
  end
  if not ok then
    why = why or "The terminal cannot be opened here."
    notice.error(why)
    return nil, why
  end
  close_ended()
  make_room()
  local id = next_id
  next_id = id + 1
  local session, err = terminal_session.start(id, with, spec)
  if not session then
    err = "The terminal did not open: " .. err
    notice.error(err)
    return nil, err
  end
  table.insert(sessions, session)
  return session
end

local remember = require("claude-ide.base.once")(function()
  remembered.follow(M.list)
end)

---@param args string[]
---@param options claude-ide.terminal.StartOptions
---@return claude-ide.terminal.Session? session
---@return string? err also shown, unless it was started in the background
local function start(args, options)
  keymaps.serve(M)
  remember()
  if options.name then
    args = vim.list_extend({ ("--name=%s"):format(options.name) }, args)
  end
  local spec, why = spec_of(args, options)
  if not spec then
    notice.error(why or "")
    return nil, why
  end
  return begin(spec)
end

---Terminates a CLI and starts a new one.
---@param options claude-ide.terminal.StartOptions
local function restart(session, args, options)
  local typing = session:is_focused() and vim.api.nvim_get_mode().mode == "t"
  if typing then
    -- Neovim leaves terminal mode of a deleted terminal later, and would leave that of the new one.
    vim.api.nvim_create_autocmd("TermLeave", {
      once = true,
      callback = function()
        vim.schedule(function()
          start(args, options)
        end)
      end,
      desc = "Claude Code: restart the CLI",
    })
  end
  session:close()
  if not typing then
    start(args, options)
  end
end

---@param session claude-ide.terminal.Session
---@return string sentence with the session's state, if known
local function running_words(session)
  local running = session:live()
  local doing = running and (" (%s)"):format(phrases.activity(running.state)) or ""
  return "Claude is already running" .. doing
end

---@param options claude-ide.terminal.OpenOptions
local function before(options, go_on)
  if options.before then
    options.before(go_on)
  else
    go_on()
  end
end

---Starts one more CLI, in a terminal of its own.
---@param args string[] additional arguments
---@param options? claude-ide.terminal.OpenOptions
function M.new(args, options)
  options = options or {}
  before(options, function()
    start(args, { cwd = options.cwd, name = options.name, config_dir = options.config_dir })
  end)
end

---Shows a session of the background in a terminal of its own: closing it does not end the session.
---@param live claude-ide.sessions.Live with a job
---@param argv string[] the command that shows it
function M.attach(live, argv)
  keymaps.serve(M)
  local cwd, why = environment.check(live.cwd)
  if not cwd then
    return notice.error(why or "")
  end
  begin({
    argv = argv,
    cwd = cwd,
    env = config.get().terminal.env,
    ide_env = {},
    title = live.name or free_title(),
    args = {},
    job = live.job,
  })
end

---A running CLI takes no arguments: the user decides whether to end it.
---@param session claude-ide.terminal.Session
---@param args string[]
---@param options claude-ide.terminal.OpenOptions
local function replace(session, args, options)
  local doing = options.purpose or ("restart with %s"):format(table.concat(args, " "))
  local keep, again = "Keep it", "End it and " .. doing
  local beside = ("Keep it and %s in another terminal"):format((doing:gsub("^restart", "start")))
  choose.select({ keep, again, beside }, { prompt = running_words(session) }, function(choice)
    if choice == again then
      before(options, function()
        if session:is_alive() then
          restart(session, args, { cwd = options.cwd, config_dir = options.config_dir })
        else
          M.open(args, { cwd = options.cwd, purpose = options.purpose, config_dir = options.config_dir })
        end
      end)
    elseif choice == beside then
      M.new(args, options)
    elseif choice == keep then
      M.show(session)
    end
  end)
end

---Shows and focuses the CLI; starts it if necessary.
---@param args? string[] additional arguments
---@param options? claude-ide.terminal.OpenOptions
function M.open(args, options)
  local session = meant()
  options = options or {}
  if not session then
    before(options, function()
      if meant() then
        return M.open(args, { cwd = options.cwd, purpose = options.purpose, config_dir = options.config_dir })
      end
      start(args or {}, { cwd = options.cwd, config_dir = options.config_dir })
    end)
  elseif args and #args > 0 then
    replace(session, args, options)
  else
    M.show(session)
  end
end

---Starts the CLI on a remote request, or from another window: the focus stays, and no running CLI is ended. It takes the place of a
---visible terminal, unless the user is in that one.
---@param args string[]
---@param options? claude-ide.terminal.StartOptions
---@return claude-ide.terminal.Session? session
---@return string? err
function M.open_in_background(args, options)
  if M.of_buffer(vim.api.nvim_get_current_buf()) then
    return nil, "the user is in the terminal of another session"
  elseif not provider().bufnr then
    return nil, "Neovim's terminal is outside of it"
  end
  return start(args, vim.tbl_extend("force", options or {}, { in_background = true }))
end

---Toggles the CLI's window. With arguments: `open`.
---@param args? string[]
---@param options? claude-ide.terminal.OpenOptions
function M.toggle(args, options)
  local session = meant()
  if session and session:is_visible() and not (args and #args > 0) then
    session:hide()
  else
    M.open(args, options)
  end
end

---Focuses the CLI, or returns to the previous window.
function M.focus()
  local session = meant()
  if session and session:is_focused() then
    session:back()
  else
    M.open()
  end
end

---The terminal that the user is in. Its CLI may have exited.
---@return claude-ide.terminal.Session?
local function entered()
  return vim.iter(sessions):find(function(session)
    return session:is_focused()
  end)
end

---Hides the window. The CLI keeps running.
function M.hide()
  local session = entered() or meant()
  if session then
    session:hide()
  end
end

---Returns from the CLI to the previous window.
function M.back()
  local session = entered()
  if session then
    session:back()
  end
end

---Terminates the CLI.
---@return boolean closed false: none was running
function M.close()
  local session = meant()
  if session then
    session:close()
  end
  return session ~= nil
end

---Whether the CLI is visible in the current tab page.
---@return boolean
function M.is_visible()
  local session = M.current()
  return session ~= nil and session:is_visible()
end

---Whether a CLI started by `:Claude` is running.
---@return boolean
function M.is_running()
  return #M.list() > 0
end

---The buffer of the terminal that prompts go to, if it has one.
---@return integer?
function M.bufnr()
  local session = M.current()
  return session and session:bufnr()
end

---The session of its CLI, if sessions are watched.
---@return claude-ide.sessions.Live?
function M.session()
  local session = M.current()
  return session and session:live()
end

return M
