-- The CLI in an external terminal: kitty, wezterm, a tmux window, … Neovim starts it, and focuses and closes its
-- window where the program can.
-- Many of these programs ask a running server for a window, which does not inherit our environment. So the variables that the CLI
-- needs to find this Neovim are part of its command, through env(1).
-- Such a program is no parent of the CLI, and has mostly ended before it connects. So a shell that becomes the CLI writes down its
-- process: any other CLI that connects meanwhile, as one that comes back from the last Neovim, is not taken for it.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local file = lazy("claude-ide.base.file")
local notice = lazy("claude-ide.base.notice")
local retry = lazy("claude-ide.base.retry")

local M = {}

---A program with windows that can be opened, focused and closed from outside.
---@class claude-ide.terminal.external.Program
---@field inside string variable that it sets for the programs in its windows
---@field open string[] the CLI's command is put at the end; prints `{id}` of the window, if the others need it
---@field focus? string[]
---@field close? string[]

---@type table<string, claude-ide.terminal.external.Program>
M.PROGRAMS = {
  kitty = {
    inside = "KITTY_WINDOW_ID",
    open = { "kitten", "@", "launch", "--cwd={cwd}" },
    focus = { "kitten", "@", "focus-window", "--match=id:{id}" },
    close = { "kitten", "@", "close-window", "--match=id:{id}" },
  },
  tmux = {
    inside = "TMUX",
    open = { "tmux", "split-window", "-h", "-P", "-F", "#{pane_id}", "-c", "{cwd}" },
    focus = { "tmux", "select-pane", "-t", "{id}" },
    close = { "tmux", "kill-pane", "-t", "{id}" },
  },
  wezterm = {
    inside = "WEZTERM_PANE",
    open = { "wezterm", "cli", "split-pane", "--right", "--cwd", "{cwd}", "--" },
    focus = { "wezterm", "cli", "activate-pane", "--pane-id", "{id}" },
    close = { "wezterm", "cli", "kill-pane", "--pane-id", "{id}" },
  },
  zellij = {
    inside = "ZELLIJ",
    open = { "zellij", "run", "--close-on-exit", "--direction", "right", "--cwd", "{cwd}", "--" },
  },
}

---@return claude-ide.terminal.external.Program? of the provider that the user chose
local function program()
  return M.PROGRAMS[config.get().terminal.provider]
end

---@param is_served boolean a server that the user runs starts it, which may have another PATH than Neovim
local function cli_command(spec, is_served)
  local command = { "env" }
  for _, name in ipairs(vim.fn.sort(vim.tbl_keys(spec.ide_env))) do
    command[#command + 1] = ("%s=%s"):format(name, spec.ide_env[name])
  end
  if is_served then
    command[#command + 1] = "PATH=" .. (spec.env.PATH or vim.env.PATH or "")
  end
  return vim.list_extend(command, spec.argv)
end

---@param text string
---@param values table<string, string> by placeholder
---@return string
local function expand(text, values)
  return (text:gsub("{(%a+)}", values))
end

---@param template string[] the CLI's command is put at the end, unless an item says where
---@param is_served boolean
---@return string[] argv
local function fill(template, spec, is_served)
  local argv, at_end = {}, not vim.list_contains(template, "{command}") and { "{command}" } or {}
  for _, item in ipairs(vim.list_extend(vim.list_slice(template), at_end)) do
    local words = item == "{command}" and cli_command(spec, is_served) or { expand(item, { cwd = spec.cwd }) }
    vim.list_extend(argv, words)
  end
  return argv
end

---@class claude-ide.terminal.external.Handle
---@field job? integer while it runs
---@field id? string of the window, as the program printed it
---@field program? claude-ide.terminal.external.Program
---@field pid? integer of the CLI, once it has begun
---@field pid_file string
---@field closing? boolean the user ends it

---Time for the CLI to begin once the program that opens its window has ended.
local PATIENCE_MS = 20000

---A CLI that ends sooner has not begun.
local AT_ONCE_MS = 2000

---Its name is its argument 0, so no word of the command needs quotes: some programs make one text of it.
local SCRIPT = [[
echo $$ >"$0.pid"
exec "$@"
]]

function M.check()
  local name, chosen = config.get().terminal.provider, program()
  if chosen then
    local is_inside = (vim.env[chosen.inside] or "") ~= ""
    return is_inside, ('terminal.provider is "%s", and Neovim does not run in it.'):format(name)
  elseif not config.get().terminal.external then
    return false,
      'terminal.provider is "external": say which program in terminal.external, e.g. { "kitty", "--" }.'
  end
  return true
end

---@param spec claude-ide.terminal.Spec
---@param on_exit claude-ide.terminal.OnExit
---@return claude-ide.terminal.external.Handle? handle
---@return string? err
function M.open(spec, on_exit)
  local script = file.private(".sh", SCRIPT)
  if not script then
    return nil, "No temporary file can be written."
  end
  spec = vim.tbl_extend("force", spec, { argv = vim.list_extend({ "sh", script }, spec.argv) })
  local chosen = program()
  local template = chosen and chosen.open or config.get().terminal.external ---@type any
  if type(template) == "function" then
    local ok, result = pcall(template, spec)
    if not ok then
      return nil, "terminal.external failed: " .. tostring(result)
    end
    template = result
  end
  if type(template) == "table" and type(template[1]) ~= "string" then
    return nil, "terminal.external returned no program."
  end
  local handle = { program = chosen, pid_file = script .. ".pid" } ---@type claude-ide.terminal.external.Handle
  local function await_cli()
    retry.until_found(
      function(answer)
        answer(M.pid(handle))
      end,
      PATIENCE_MS,
      function(pid)
        if handle.closing then
          return M.close(handle)
        elseif not pid then
          on_exit(0, true)
          return notice.warn("Claude did not start in the other terminal.")
        end
        retry.until_ended({ pid }, AT_ONCE_MS, function(has_ended)
          if has_ended and not handle.closing then
            on_exit(1, true)
            notice.warn(("Claude exited at once in the other terminal. Try `%s` there."):format(spec.argv[3]))
          end
        end)
      end
    )
  end
  if type(template) ~= "table" then -- the function has started the CLI itself
    await_cli()
    return handle
  end
  local ok, job = pcall(vim.fn.jobstart, fill(template, spec, chosen ~= nil), {
    cwd = spec.cwd,
    env = spec.env,
    detach = true, -- outlives Neovim
    stdout_buffered = true,
    on_stdout = chosen and function(_, lines)
      handle.id = vim.trim(lines[1] or "")
    end or nil,
    on_exit = function(_, code)
      handle.job = nil
      if code == 0 then
        await_cli()
      else
        on_exit(code, true)
        notice.warn(("%s ended with code %d"):format(template[1], code))
      end
    end,
  })
  if not ok or job <= 0 then
    return nil, template[1] .. " could not be run"
  end
  handle.job = job
  return handle
end

---@param handle claude-ide.terminal.external.Handle
---@param template? string[]
---@return boolean started whether the window can be addressed
local function control(handle, template)
  local id = handle.id or ""
  if not template or id == "" then
    return false
  end
  local argv = vim.tbl_map(function(item)
    return expand(item, { id = id })
  end, template)
  local started = pcall(vim.system, argv)
  return started
end

function M.focus(handle)
  if not control(handle, handle.program and handle.program.focus) then
    notice.info("Claude runs in its own window.")
  end
end

---Windows of other programs are not visible to Neovim: counts as hidden, so that `:Claude` says where the CLI runs.
function M.is_visible()
  return false
end

function M.pid(handle)
  handle.pid = handle.pid or tonumber((file.read_now(handle.pid_file, 32)))
  return handle.pid
end

function M.show() end

function M.hide() end

---A window that its program is still opening is closed once it is open (`await_cli`).
function M.close(handle)
  handle.closing = true
  if control(handle, handle.program and handle.program.close) then
    return
  elseif handle.job and not handle.program then
    vim.fn.jobstop(handle.job)
  elseif M.pid(handle) then
    vim.uv.kill(handle.pid, "sigterm")
  end
end

return M
