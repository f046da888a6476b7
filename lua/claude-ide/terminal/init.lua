-- The terminals that run the CLI: selects their provider, and the one that commands apply to.
-- A terminal is an object (session.lua), kept by number, so that several can exist.

local M = {}

---A program to run, with everything that a provider needs.
---@class claude-ide.terminal.Spec
---@field argv string[] program and arguments
---@field cwd string absolute folder
---@field env table<string, string> variables in addition to Neovim's
---@field ide_env table<string, string> those of `env` by which the CLI finds this Neovim
---@field title string for statuslines
---@field in_background? boolean show it without moving the focus

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
---@field check? fun(spec: claude-ide.terminal.Spec): boolean, string? whether it is available; reason if not

---@type table<integer, claude-ide.terminal.Session>
local sessions = {}
local next_id = 1
---The terminal that `:Claude` toggles.
---@type integer?
local current
---Name of a terminal's CLI for the editor's tools.
---The server knows such a run by its first word (crates/server/src/client/lifecycle.rs).
local RUN = "terminal:%d"

---@return claude-ide.terminal.Session?
local function live()
  local session = current and sessions[current]
  if session and session:is_alive() then
    return session
  end
  return nil
end

---@return claude-ide.terminal.Provider
local function provider()
  local chosen = require("claude-ide.config").get().terminal.provider
  if type(chosen) == "table" then
    return chosen
  end
  local is_program = require("claude-ide.terminal.external").PROGRAMS[chosen]
  return require("claude-ide.terminal." .. (is_program and "external" or chosen))
end

---Starts the server, whose port the CLI needs to find this Neovim. Without it the CLI runs unconnected.
---@return integer? port
local function start_server()
  local info, err = require("claude-ide.server").start()
  if not info then
    local why = tostring(err)
    require("claude-ide.ui.notice").warn(
      require("claude-ide.ui.one_line").fitting({ "Claude runs without this Neovim: " .. why, why })
    )
    return nil
  end
  return info.port
end

---@class claude-ide.terminal.OpenOptions
---@field cwd? string default: as configured
---@field purpose? string meaning of the arguments, for the question whether to end a running CLI
---@field before? fun(go_on: fun()) called before a CLI is started with the arguments

---@param folder? string default: as configured
---@return claude-ide.terminal.Spec? spec
---@return string? why reason if it cannot run
local function spec_of(args, folder)
  local options = require("claude-ide.config").get().terminal
  local cwd, why = require("claude-ide.terminal.environment").check(folder)
  if not cwd then
    return nil, why
  end
  local ide_env = require("claude-ide.terminal.environment").of(start_server(), vim.fn.environ())
  local argv = vim.deepcopy(options.command)
  if options.provider ~= "none" then
    local hooks ---@type string[]
    argv, hooks, args = require("claude-ide.terminal.hooks").of(argv, args, cwd)
    vim.list_extend(argv, require("claude-ide.terminal.agent_tools").of(RUN:format(next_id)))
    vim.list_extend(argv, hooks)
  end
  return {
    argv = vim.list_extend(argv, args),
    cwd = cwd,
    env = vim.tbl_extend("force", ide_env, options.env),
    ide_env = ide_env,
    title = "Claude",
  }
end

---@param cwd? string
---@param in_background? boolean
---@return boolean? ok
---@return string? err also shown, unless it was started in the background
local function start(args, cwd, in_background)
  require("claude-ide.terminal.keymaps").serve(M)
  local with = provider()
  local spec, why = spec_of(args, cwd)
  local ok = spec ~= nil
  if spec and with.check then
    ok, why = with.check(spec)
  end
  if not spec or not ok then
    why = why or "The terminal cannot be opened here."
    require("claude-ide.ui.notice").error(why)
    return nil, why
  end
  spec.in_background = in_background
  if current and sessions[current] then
    sessions[current]:close() -- exited with an error that was shown until now
    sessions[current] = nil
  end
  local id = next_id
  next_id = id + 1
  local session, err = require("claude-ide.terminal.session").start(id, with, spec)
  if not session then
    err = "The terminal did not open: " .. err
    require("claude-ide.ui.notice").error(err)
    return nil, err
  end
  sessions[id], current = session, id
  return true
end

---Terminates a CLI and starts a new one.
---@param cwd? string
local function restart(session, args, cwd)
  local typing = session:is_focused() and vim.api.nvim_get_mode().mode == "t"
  if typing then
    -- Neovim leaves terminal mode of a deleted terminal later, and would leave that of the new one.
    vim.api.nvim_create_autocmd("TermLeave", {
      once = true,
      callback = function()
        vim.schedule(function()
          start(args, cwd)
        end)
      end,
      desc = "Claude Code: restart the CLI",
    })
  end
  session:close()
  if not typing then
    start(args, cwd)
  end
end

---@return string sentence with the session's state, if known
local function running_words()
  local running = M.session()
  local doing = running and (" (%s)"):format(require("claude-ide.sessions.phrases").activity(running.state))
    or ""
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

---A running CLI takes no arguments: the user decides whether to end it.
---@param options claude-ide.terminal.OpenOptions
local function replace(session, args, options)
  local keep = "Keep it"
  local again = options.purpose and ("End it and %s"):format(options.purpose)
    or "End it and start anew with " .. table.concat(args, " ")
  require("claude-ide.ui.choose").select({ keep, again }, { prompt = running_words() }, function(choice)
    if choice == again then
      before(options, function()
        if live() == session then
          restart(session, args, options.cwd)
        else
          M.open(args, { cwd = options.cwd, purpose = options.purpose })
        end
      end)
    elseif choice == keep then
      session:focus()
    end
  end)
end

---Shows and focuses the CLI; starts it if necessary.
---@param args? string[] additional arguments
---@param options? claude-ide.terminal.OpenOptions
function M.open(args, options)
  local session = live()
  options = options or {}
  if not session then
    before(options, function()
      if live() then
        return M.open(args, { cwd = options.cwd, purpose = options.purpose })
      end
      start(args or {}, options.cwd)
    end)
  elseif args and #args > 0 then
    replace(session, args, options)
  else
    session:focus()
  end
end

---Starts the CLI on a remote request: the focus stays, and no running CLI is ended.
---@param args string[]
---@param cwd? string
---@return boolean? ok
---@return string? err
function M.open_in_background(args, cwd)
  if live() then
    return nil, "Neovim's terminal has another session"
  elseif not provider().bufnr then
    return nil, "Neovim's terminal is outside of it"
  end
  return start(args, cwd, true)
end

---Toggles the CLI's window. With arguments: `open`.
---@param args? string[]
---@param options? claude-ide.terminal.OpenOptions
function M.toggle(args, options)
  local session = live()
  if session and not (args and #args > 0) then
    session:toggle()
  else
    M.open(args, options)
  end
end

---Focuses the CLI, or returns to the previous window.
function M.focus()
  local session = live()
  if not session then
    M.open()
  elseif session:is_focused() then
    session:back()
  else
    session:focus()
  end
end

---Hides the window. The CLI keeps running.
function M.hide()
  local session = live()
  if session then
    session:hide()
  end
end

---Returns from the CLI to the previous window.
function M.back()
  local session = live()
  if session and session:is_focused() then
    session:back()
  end
end

---Terminates the CLI.
---@return boolean closed false: none was running
function M.close()
  local session = live()
  if session then
    session:close()
  end
  return session ~= nil
end

---Whether the CLI is visible in the current tab page.
---@return boolean
function M.is_visible()
  local session = live()
  return session ~= nil and session:is_visible()
end

---Whether a CLI started by `:Claude` is running.
---@return boolean
function M.is_running()
  return live() ~= nil
end

---The CLI's buffer, if it has one.
---@return integer?
function M.bufnr()
  local session = live()
  return session and session:bufnr()
end

---Whether the CLI named `run` (`claude-ide.Client.run`) is the current terminal's.
---@param run string
---@return boolean
function M.is_run(run)
  local session = live()
  return session ~= nil and run == RUN:format(session.id)
end

---The session of its CLI, if sessions are watched.
---@return claude-ide.sessions.Live?
function M.session()
  local buf = M.bufnr()
  local job = buf and vim.b[buf].terminal_job_pid
  return job and require("claude-ide.sessions.live").below(job)
end

return M
