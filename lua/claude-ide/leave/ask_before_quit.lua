-- Asks before Neovim ends sessions that work: stay, let them go on in the background, or end them.
-- Invariants: nothing waits for the answer, so no script hangs. `:qa!` quits: like unsaved text, a modified buffer refuses the exit.
-- Without a UI nothing is asked. No step discards unsaved text.
local lazy = require("claude-ide.lazy")
local background = lazy("claude-ide.terminal.background")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local choose = lazy("claude-ide.ui.choose")
local clock = lazy("claude-ide.base.clock")
local config = lazy("claude-ide.config")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local phrases = lazy("claude-ide.sessions.phrases")
local quietly = lazy("claude-ide.ui.quietly")
local remembered = lazy("claude-ide.terminal.remembered")
local restore = lazy("claude-ide.ui.restore")
local sessions_live = lazy("claude-ide.sessions.live")
local terminal_prompt = lazy("claude-ide.terminal.prompt")
local terminals = lazy("claude-ide.terminal")
local typing = lazy("claude-ide.ui.guard.typing")
local window = lazy("claude-ide.base.window")

local M = {}

local STAY, KEEP, END = "Stay in Neovim", "Quit, and continue %s in the background", "Quit, and end %s"

local LOOK_MS = 5
---Cells of a name.
local MOST_NAME = 40

---The user has decided.
local is_decided = false

---@param ours claude-ide.sessions.Ours
---@return boolean
local function has_held_prompt(ours)
  local buf = ours.terminal and ours.terminal:bufnr()
  local live = sessions_live.of_pid(ours.session.pid)
  local is_idle = live ~= nil and live.state.activity == "idle"
  return buf ~= nil and terminal_prompt.is_held(buf, is_idle)
end

---Those that end with Neovim. A terminal outside of Neovim and a session of the background go on by themselves.
---@return claude-ide.sessions.Ours[]
local function working()
  return vim.tbl_filter(function(ours)
    local activity, terminal = ours.session.state.activity, ours.terminal
    local ends = terminal and terminal:bufnr() ~= nil and not terminal.spec.job or ours.other ~= nil
    return ends and (activity == "working" or activity == "waiting" or has_held_prompt(ours))
  end, own.list())
end

---Neovim waits for a key after the error of a refused exit. Nothing but a callback that may not touch the editor runs meanwhile.
---@return fun() stop
local function dismiss_error()
  local timer = assert(vim.uv.new_timer())
  timer:start(0, LOOK_MS, function()
    if vim.api.nvim_get_mode().mode == "r" then
      timer:stop() -- a second key would answer the question
      vim.api.nvim_input("<CR>")
    end
  end)
  return function()
    timer:close()
  end
end

---Makes Neovim refuse to exit, until the function that it returns is called. The buffer is in a window, or Neovim would show it in place of
---another one.
---@return fun() release
local function refuse()
  local from, asks = vim.api.nvim_get_current_win(), vim.o.confirm
  local buf = own_buffer.create({
    kind = "guard",
    name = { "Claude", "works" },
    bo = { buftype = "acwrite", modified = true, bufhidden = "wipe" },
  })
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    desc = "Claude Code: report that this buffer cannot be written",
    callback = function() end,
  })
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 0,
    col = 0,
    width = 1,
    height = 1,
    style = "minimal",
    hide = true,
    noautocmd = true,
  })
  vim.o.confirm = false -- it would ask whether to save this buffer
  local dismiss = dismiss_error()
  return function()
    dismiss()
    vim.o.confirm = asks
    if vim.api.nvim_win_is_valid(from) then
      window.enter(from)
    end
    window.close(win)
    vim.api.nvim_echo({}, false, {}) -- Neovim has named the buffer
  end
end

---Commands that may be refused, if no `!` follows.
local QUITS = { quit = true, quitall = true, qall = true, wq = true, xit = true, exit = true }

---The user has typed one of them as a command line, which Neovim carries out now.
local is_plain = false

---@param text string a command line
---@return boolean
local function may_be_refused(text)
  local ok, command = pcall(vim.api.nvim_parse_cmd, text, {})
  return ok and QUITS[command.cmd] == true and not command.bang and command.nextcmd == ""
end

---A command line is about to be carried out.
function M.note_command()
  if may_be_refused(vim.fn.getcmdline()) and not vim.v.event.abort then
    is_plain = true
    vim.schedule(function()
      is_plain = false
    end)
  end
end

---Whether a buffer has changes for which Neovim would refuse to quit, or which `:xall` would write.
---@return boolean
local function has_changes()
  return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
    return vim.bo[buf].modified and vim.list_contains({ "", "acwrite", "help" }, vim.bo[buf].buftype)
  end)
end

---Makes Neovim refuse to exit without an error, which plugins would show as a notification, until the function that it returns is called:
---it gives up if an autocommand leaves the tab page. Even after a `!`, so this is for a command that is known to have none.
---@return fun() release
local function refuse_silently()
  local silently = quietly.run
  local here, tabline = restore.remember_place(), vim.o.showtabline
  local buf = own_buffer.create({ kind = "guard", bo = { bufhidden = "wipe" } })
  silently(function()
    if tabline == 1 and #vim.api.nvim_list_tabpages() == 1 then
      vim.o.showtabline = 0 -- else it would appear, and resize the windows
    end
    vim.cmd("keepalt tab sbuffer " .. buf)
  end)
  local win = vim.api.nvim_get_current_win()
  return function()
    silently(function()
      restore.go(here)
      window.close(win)
      vim.o.showtabline = tabline
    end)
  end
end

---@param restarts boolean
local function quit(restarts)
  is_decided = true
  local command = restarts and "silent restart" or "silent quitall" -- else Neovim waits for a key after an error
  local ok, err = pcall(vim.api.nvim_exec2, command, {})
  is_decided = false
  if not ok then
    notice.error((tostring(err):gsub("^.-Vim%(%a+%):", ""):gsub("\n.*", "")))
  end
end

---@param ours claude-ide.sessions.Ours
---@return string
local function name_of(ours)
  local session = ours.session
  local said = ours.other and ours.other.name
  if not ours.terminal and vim.trim(session.name or "") == "" and said then
    return ("“%s”"):format(phrases.fit(phrases.one_line(said), MOST_NAME))
  end
  return ours.terminal and ours.terminal:name() or phrases.title(session)
end

---Takes what waits for a session, except what a page has, which tells its writer that it was not sent.
---@param id string
---@return string[]
local function take_unsent(id)
  local texts = {} ---@type string[]
  for _, entry in ipairs(outbox.list(id)) do
    if entry.kind ~= "page" and outbox.take_back(entry) then
      texts[#texts + 1] = entry.text
    end
  end
  return texts
end

---@param ours claude-ide.sessions.Ours
---@param done fun(err?: string)
local function hand_over(ours, done)
  local live, terminal, since = ours.session, ours.terminal, clock.now()
  ---@type claude-ide.sessions.Leaving
  local leaving = {
    id = live.id,
    pid = live.pid,
    cwd = live.cwd,
    config_dir = live.config_dir,
    started = live.started,
    name = terminal and terminal.spec.name,
    args = terminal and terminal.spec.args or {},
    is_held = function()
      return has_held_prompt(ours)
    end,
    release = function(go_on)
      local unsent = take_unsent(live.id) -- before the end of the process gives it back
      if terminal then
        terminal:close()
        go_on(unsent)
      else
        local other = ours.other
        ---@cast other -nil
        other.release(function()
          go_on(unsent)
        end)
      end
    end,
  }
  local name = name_of(ours)
  background.hand_over(leaving, function(err, is_over, args)
    if vim.v.exiting ~= vim.NIL then
      return -- the user has quit with `:qa!` meanwhile
    elseif err then
      local words = ("%s does not continue in the background: %s"):format(name, err)
      notice.error(words)
      if args then
        terminals.new(args, { cwd = live.cwd, name = leaving.name, config_dir = live.config_dir })
      end
    elseif not is_over then
      remembered.hand_over({
        session = live.id,
        cwd = live.cwd,
        name = leaving.name,
        since = since,
      })
    end
    done(err)
  end)
end

---The user's buffer for which Neovim would refuse to quit.
---@return integer?
local function unsaved()
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    local bo = vim.bo[buf] --[[@as vim.bo]]
    local is_kept = bo.modified and (bo.buftype == "" or bo.buftype == "acwrite" or bo.buftype == "help")
    return is_kept and not buffer_marks.kind(buf)
  end)
end

---What Neovim says when it refuses.
---@param buf integer
local function refused(buf)
  local name = vim.fn.fnamemodify(vim.fn.bufname(buf), ":~:.")
  notice.error(
    ('E37: No write since last change for buffer "%s" (add ! to override)'):format(
      name ~= "" and name or "[No Name]"
    )
  )
end

---@param list claude-ide.sessions.Ours[]
---@param restarts boolean
local function keep(list, restarts)
  if vim.o.autowriteall then
    vim.cmd("silent! wall") -- as quitting does
  end
  local buf = unsaved()
  if buf then
    return refused(buf) -- before a session is interrupted for a Neovim that stays
  elseif #list == 0 then
    return quit(restarts) -- they are done
  end
  notice.info("Neovim quits as soon as Claude is in the background.")
  local left, failed = #list, false
  for _, ours in ipairs(list) do
    hand_over(ours, function(err)
      left, failed = left - 1, failed or err ~= nil
      if left == 0 and not failed then
        quit(restarts)
      end
    end)
  end
end

---@param list claude-ide.sessions.Ours[]
---@param restarts boolean
local function ask(list, restarts)
  local one = #list == 1
  local waits = vim.iter(list):any(function(ours)
    return ours.session.state.activity == "waiting"
  end)
  local prompt = one and ("%s %s"):format(name_of(list[1]), waits and "waits for you" or "works")
    or ("%d sessions of Claude %s"):format(#list, waits and "work or wait for you" or "work")
  local it = one and "it" or "them"
  local choices = { STAY, KEEP:format(it), END:format(it) }
  choose.select(choices, { prompt = prompt, kind = "claude_quit" }, function(choice)
    if choice == choices[2] then
      keep(working(), restarts)
    elseif choice == choices[3] then
      quit(restarts)
    end
  end)
end

---Neovim is about to exit, and may still refuse.
function M.before_exit()
  local on_quit = config.get().terminal.on_quit
  local list = not is_decided and on_quit ~= "end" and #vim.api.nvim_list_uis() > 0 and working() or {}
  if #list == 0 then
    return
  end
  local restarts = vim.v.exitreason == "restart" -- since 0.12
  local by_keys = typing.command()
  local is_known = is_plain or by_keys ~= nil and may_be_refused(by_keys)
  local release = is_known and not has_changes() and refuse_silently() or refuse()
  vim.schedule(function()
    if vim.v.exiting ~= vim.NIL then
      return -- `:qa!`: something waits at exit
    end
    release()
    local buf = unsaved()
    if buf and not vim.o.confirm and not vim.o.autowriteall then
      refused(buf) -- with or without sessions
    elseif on_quit == "background" then
      keep(list, restarts)
    else
      ask(list, restarts)
    end
  end)
end

return M
