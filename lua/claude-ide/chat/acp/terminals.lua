-- Terminals for an agent's commands: Neovim terminal buffers, hidden until the user opens them.
-- Invariants: a command's process group ends within seconds of the command, its terminal, or its chat (processes that leave the group,
-- such as daemons, are not followed). The kept output is bounded.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local output = lazy("claude-ide.chat.acp.output")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local split = lazy("claude-ide.ui.split")
local terminal_job = lazy("claude-ide.terminal.job")
local width = lazy("claude-ide.base.width")

local M = {}

---@class claude-ide.chat.acp.Terminal
---@field id string
---@field buf integer
---@field job? integer nil: exited
---@field group? integer the library's id of its process group
---@field output claude-ide.chat.acp.Output
---@field code? integer exit code
---@field drained? boolean all output received
---@field exit? { exitCode?: integer, signal?: string }
---@field killed? boolean
---@field waiting fun()[] called at its exit

local LIMIT, MOST_LIMIT = 1024 * 1024, 8 * 1024 * 1024
---Limit of buffers of released commands; the oldest is deleted.
local MOST_KEPT = 16

---@type integer[]
local kept = {}

---Run by a shell, so that the program is looked up from the command's folder, with its PATH.
local BEGIN = 'exec "$@"'

---Neovim before 0.12 does not read the rest of a terminal's output after the exit, so the end of a long output would be lost: the shell
---waits until it is read.
local LINGER = '"$@"; code=$?; sleep 0.3; exit $code'

---A pager would wait for keys.
local ENVIRONMENT = { PAGER = "cat", GIT_PAGER = "cat" }

---@param ask claude-ide.chat.Ask
---@return string[] argv
local function argv_of(ask)
  local args = ask.args or {}
  local argv = vim.list_extend({ ask.command }, args)
  -- Some agents send a whole command line.
  if #args == 0 and vim.fn.executable(ask.command) == 0 then
    argv = { "/bin/sh", "-c", ask.command }
  end
  local script = vim.fn.has("nvim-0.12") == 1 and BEGIN or LINGER
  return vim.list_extend({ "/bin/sh", "-c", script, "sh" }, argv)
end

---@param ask claude-ide.chat.Ask
---@return table<string, string>
local function env_of(ask)
  local env = vim.deepcopy(ENVIRONMENT)
  for _, variable in ipairs(ask.env or {}) do
    env[variable[1]] = variable[2]
  end
  return env
end

---@param ask claude-ide.chat.Ask
---@return boolean
local function has_nul(ask)
  local texts = vim.list_extend({ ask.command, ask.cwd or "" }, ask.args or {})
  for _, variable in ipairs(ask.env or {}) do
    vim.list_extend(texts, variable)
  end
  return vim.iter(texts):any(function(text)
    return text:find("\0", 1, true) ~= nil
  end)
end

---@param buf integer
---@param argv string[]
---@param options table
---@param is_hidden? boolean it is in no window
---@return integer? job
---@return string? err
local function spawn(buf, argv, options, is_hidden)
  -- The user's TermOpen autocommands, such as `startinsert`, would affect the current window.
  local ignored = is_hidden and "TermOpen" or nil
  local ok, job = pcall(vim.api.nvim_buf_call, buf, function()
    return terminal_job.start(argv, options, ignored)
  end)
  if not ok or type(job) ~= "number" or job <= 0 then
    return nil, ok and "it could not be run" or tostring(job):gsub("^.-(E%d+: )", "%1"):match("[^\n]*")
  end
  if is_hidden then
    -- Neovim's own TermOpen defaults, since 0.11.
    local bo, rows = vim.bo[buf], vim.go.scrollback
    bo.modifiable, bo.undolevels, bo.textwidth = false, -1, 0
    bo.scrollback = rows < 0 and 10000 or math.max(rows, 1)
  end
  return job --[[@as integer]]
end

---@return integer buf for a program
local function blank()
  return own_buffer.create({ kind = "terminal", is_private = true })
end

---A name like "term://…" would make a saved session run the command again.
local function name(buf, title)
  local short = width.cut(vim.trim((title:gsub("[%c/]+", " "))), 40)
  buffer_marks.name(buf, short, "terminal")
end

---How long output may arrive after the exit.
local DRAIN_MS = 500

---Reports the exit when all output is received.
---@param terminal claude-ide.chat.acp.Terminal
local function ended(terminal)
  local code = terminal.code
  if terminal.exit or not code then
    return
  end
  terminal.exit = terminal.killed and { signal = "SIGTERM" } or { exitCode = math.max(code, 0) }
  local waiting = terminal.waiting
  terminal.waiting = {}
  for _, tell in ipairs(waiting) do
    tell()
  end
end

---Kills the command's process group after its exit, including processes that ignore SIGHUP.
local function end_group(terminal)
  if terminal.group then
    native.group_end(terminal.group)
    terminal.group = nil
  end
end

---@param chat claude-ide.chat.Chat
---@param ask claude-ide.chat.Ask
---@param answer claude-ide.chat.Reply
function M.create(chat, ask, answer)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local cwd = ask.cwd or chat.cwd
  if has_nul(ask) then
    return answer(nil, "invalid", "a command cannot have a NUL in it")
  elseif vim.fn.isdirectory(cwd) == 0 then
    return answer(nil, "invalid", ("the folder %s does not exist"):format(cwd))
  end
  acp.last_terminal = acp.last_terminal + 1
  local buf = blank()
  local terminal = {
    id = ("term-%d"):format(acp.last_terminal),
    buf = buf,
    output = output.new(math.min(math.max(ask.output_limit or LIMIT, 1), MOST_LIMIT) --[[@as integer]]),
    waiting = {},
  } ---@type claude-ide.chat.acp.Terminal
  local job, err = spawn(buf, argv_of(ask), {
    cwd = cwd,
    env = env_of(ask),
    on_stdout = function(_, data)
      terminal.output:add(table.concat(data, "\n"))
      if #data == 1 and data[1] == "" then
        terminal.drained = true
        ended(terminal)
      end
    end,
    on_exit = function(_, code)
      terminal.job, terminal.code = nil, code
      end_group(terminal)
      if terminal.drained then
        return ended(terminal)
      end
      -- Child processes may keep the terminal open.
      vim.defer_fn(function()
        ended(terminal)
      end, DRAIN_MS)
    end,
  }, true)
  if not job then
    vim.api.nvim_buf_delete(buf, { force = true })
    return answer(nil, "failed", err)
  end
  terminal.job = job
  -- `jobpid()` fails if the command has ended already.
  terminal.group = native.group_keep(vim.b[buf].terminal_job_pid)
  name(buf, ask.command)
  acp.terminals[terminal.id] = terminal
  answer({ terminalId = terminal.id })
end

---A request about a terminal.
---@param serve fun(terminal: claude-ide.chat.acp.Terminal, answer: claude-ide.chat.Reply, acp: claude-ide.chat.acp.State)
---@return fun(chat: claude-ide.chat.Chat, ask: claude-ide.chat.Ask, answer: claude-ide.chat.Reply)
local function about_one(serve)
  return function(chat, ask, answer)
    local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
    local terminal = acp.terminals[ask.terminal]
    if not terminal then
      return answer(nil, "not_found", ("there is no terminal %s"):format(ask.terminal))
    end
    serve(terminal, answer, acp)
  end
end

M.output = about_one(function(terminal, answer)
  local text, truncated = terminal.output:text()
  answer({ output = text, truncated = truncated, exitStatus = terminal.exit })
end)

M.wait_for_exit = about_one(function(terminal, answer)
  if terminal.exit then
    return answer(terminal.exit)
  end
  table.insert(terminal.waiting, function()
    answer(terminal.exit)
  end)
end)

---@param terminal claude-ide.chat.acp.Terminal
local function stop(terminal)
  if terminal.job then
    terminal.killed = true
    -- Its group is killed after its exit: before the child's exec, a signal would reach Neovim's own handlers, and Neovim would quit.
    pcall(vim.fn.jobstop, terminal.job)
  end
end

M.kill = about_one(function(terminal, answer)
  stop(terminal)
  answer({})
end)

---@param terminal claude-ide.chat.acp.Terminal
local function put_away(terminal)
  kept[#kept + 1] = terminal.buf
  while #kept > MOST_KEPT do
    local oldest = table.remove(kept, 1)
    if vim.api.nvim_buf_is_valid(oldest) and #vim.fn.win_findbuf(oldest) == 0 then
      pcall(vim.api.nvim_buf_delete, oldest, { force = true })
    end
  end
end

M.release = about_one(function(terminal, answer, acp)
  stop(terminal)
  acp.outputs[terminal.id] = terminal.output:text():sub(-16 * 1024)
  acp.terminals[terminal.id] = nil
  put_away(terminal)
  answer({})
end)

---A terminal's output.
---@param chat claude-ide.chat.Chat
---@param id string
---@return string?
function M.text(chat, id)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local terminal = acp.terminals[id]
  return terminal and (terminal.output:text()) or acp.outputs[id]
end

---@param chat claude-ide.chat.Chat
function M.end_all(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  for id, terminal in pairs(acp.terminals) do
    stop(terminal)
    put_away(terminal)
    acp.terminals[id] = nil
  end
end

---Runs a program in a new window, for the user.
---@param argv string[]
---@param opts { cwd: string, env: table<string, string>, title: string, on_exit: fun(code: integer) }
function M.show_program(argv, opts)
  local buf = blank()
  split.enter_below(buf, 0.5)
  local job, err = spawn(buf, argv, {
    cwd = opts.cwd,
    env = next(opts.env) and opts.env or nil,
    on_exit = function(_, code)
      opts.on_exit(code)
    end,
  })
  if not job then
    notice.error(err or "It could not be run.")
    return
  end
  name(buf, opts.title)
  vim.cmd.startinsert()
end

return M
