-- `:checkhealth claude-ide`: checks everything that a CLI needs to find this Neovim, with advice. Changes nothing, and only runs
-- programs to get their versions.

local lazy = require("claude-ide.lazy")
local agents = lazy("claude-ide.chat.acp.agents")
local config = lazy("claude-ide.config")
local health_server = lazy("claude-ide.health.server")
local hooks = lazy("claude-ide.terminal.hooks")
local ide_server = lazy("claude-ide.server")
local install = lazy("claude-ide.library.install")
local journal = lazy("claude-ide.health.journal")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notebook = lazy("claude-ide.notebook")
local notebook_interpreter = lazy("claude-ide.notebook.interpreter")
local paths = lazy("claude-ide.base.path")
local sessions = lazy("claude-ide.health.sessions")
local surroundings = lazy("claude-ide.health.surroundings")
local update = lazy("claude-ide.library.update")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Timeout of `claude --version`. The CLI is large: a first start from a slow disk takes seconds.
M.version_timeout_ms = 10000

---The oldest CLI known to work.
local OLDEST_CLI = "2.0.77"
---The oldest that runs mods (terminal/mod.lua).
local OLDEST_WITH_MODS = "2.1.287"

local function check_neovim()
  vim.health.start("Is the plugin installed?")
  local version = vim.fn.execute("version"):match("NVIM v(%S+)") or "unknown"
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. version)
  else
    vim.health.error("Neovim " .. version .. " is too old", "Use Neovim 0.10 or newer.")
  end
  if vim.fn.has("win32") == 1 then
    vim.health.error(
      "Neovim runs on Windows: the library needs Unix (the modes of files, signals), so there is none to install or build",
      "Run Neovim in WSL. For a CLI on the Windows side see :help claude-ide-elsewhere"
    )
  end
end

local function check_options()
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    vim.health.warn(problem, "See :help claude-ide-options")
  end
  if #problems == 0 then
    vim.health.ok("The options are valid")
  end
end

---@return string? version first line of output
local function version_of(path)
  local ok, result = pcall(function()
    return vim.system({ path, "--version" }, { text = true, timeout = M.version_timeout_ms }):wait()
  end)
  -- Nil where a child of the program keeps its output open after the timeout.
  return ok and result and result.code == 0 and vim.trim(result.stdout or ""):match("^[^\n]+") or nil
end

---The build tool of the library.
---@param is_needed boolean whether the library is missing
local function check_cargo(is_needed)
  local path = vim.fn.exepath("cargo")
  path = path ~= "" and path or vim.fn.exepath(vim.fs.normalize("~/.cargo/bin/cargo"))
  if path == "" then
    local text = "`cargo` was not found: where no release fits, the library cannot be built after an update"
    if is_needed then
      vim.health.warn(text, "Install Rust: https://rustup.rs")
    else
      vim.health.info(text .. " (Rust: https://rustup.rs)")
    end
    return
  end
  local said = version_of(path)
  vim.health.info(("%s: %s"):format(path, said or "did not report its version"))
end

local function check_library()
  local library = native.load()
  local problem = native.problem()
  if library then
    vim.health.ok(("%s, version %s"):format(native.find() or "No longer on disk", library.version()))
  elseif problem then
    vim.health.error(problem.what, {
      problem.detail,
      ("Run `%s`%s."):format(problem.remedy, problem.restart and ", then restart Neovim" or ""),
    })
  end
  if update.is_outdated() then
    vim.health.warn("The plugin was updated on disk while this Neovim ran", "Restart Neovim to use it.")
  end
  local names = install.names(native.plugin_root())
  vim.health.info(("The sources are %s, their library is %s"):format(names.key, names.path))
  if not names.asset then
    local system = vim.uv.os_uname()
    vim.health.info(
      ("No library is released for %s on %s: it has to be built"):format(system.sysname, system.machine)
    )
  elseif #names.urls == 0 then
    vim.health.info(("`vim.g.claude_ide_release_url` is false: %s is not downloaded"):format(names.asset))
  end
  for _, url in ipairs(names.urls) do
    vim.health.info("`:Claude install` looks for " .. url)
  end
  check_cargo(not library)
end

---Another copy's modules would mix with these.
local function check_copies()
  local copies = {} ---@type table<string, true>
  for _, path in ipairs(vim.api.nvim_get_runtime_file("lua/claude-ide/library/native.lua", true)) do
    copies[vim.uv.fs_realpath(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(path))))) or path] =
      true
  end
  if vim.tbl_count(copies) > 1 then
    vim.health.warn(
      "The plugin is installed more than once: " .. table.concat(vim.fn.sort(vim.tbl_keys(copies)), ", "),
      "Remove all but one of them."
    )
  end
end

---Folders that the plugin writes to, and what is lost where it cannot.
local function check_folders()
  local folders = {
    { vim.fn.stdpath("state"), "drafts of prompts and what ended with Neovim are lost" },
    { vim.fn.stdpath("log"), "there is no log" },
    { vim.fn.stdpath("cache"), "the list of sessions is read again at each start" },
    { native.plugin_root() .. "/build", "`:Claude install` fails" },
  }
  for _, folder in ipairs(folders) do
    local path = folder[1] --[[@as string]]
    local existing = path
    while not vim.uv.fs_stat(existing) and existing ~= vim.fs.dirname(existing) do
      existing = vim.fs.dirname(existing)
    end
    local stat = vim.uv.fs_stat(existing)
    if not stat or stat.type ~= "directory" or not vim.uv.fs_access(existing, "W") then
      vim.health.warn(
        ("%s cannot be written to: %s"):format(path, folder[2]),
        "Change its owner or permissions."
      )
    end
  end
end

local function check_cli()
  vim.health.start("Is Claude Code installed?")
  local terminal = config.get().terminal
  local program = terminal.command[1]
  local path = vim.fn.exepath(program)
  if path == "" then
    vim.health.warn(("`%s` was not found"):format(program), {
      "Install it: npm install -g @anthropic-ai/claude-code",
      "Or set its path: terminal.command",
      "A CLI on another PATH can still connect.",
    })
    return
  end
  local said = version_of(path)
  if said then
    local version = said:match("%d+%.%d+%.%d+")
    if version and vim.version.lt(version, OLDEST_CLI) then
      vim.health.warn(("%s: %s. The oldest that is known to work is %s"):format(path, said, OLDEST_CLI), {
        "Update it: claude update",
      })
    else
      vim.health.ok(("%s: %s"):format(path, said))
      if
        version
        and vim.version.lt(version, OLDEST_WITH_MODS)
        and config.get().auto_mode.refusals == "ask"
      then
        vim.health.info(
          ("What its auto mode refuses stays refused: to be asked needs %s"):format(OLDEST_WITH_MODS)
        )
      end
    end
  else
    vim.health.warn(path .. " did not report its version", "Run `" .. program .. " --version` in a terminal.")
  end
  vim.health.info(
    ("`:Claude` runs it with the provider %s"):format(
      type(terminal.provider) == "table" and "that you wrote" or ('"%s"'):format(terminal.provider)
    )
  )
end

---CLIs that no longer have their connection.
local function check_lost()
  for _, lost in ipairs(ide_server.lost()) do
    local client = lost.client
    local who = ("%s %s, pid %d"):format(client.name or "unnamed", client.version or "", client.pid)
    if lost.sent_away then
      vim.health.info(
        ("%s: disconnected by `:Claude disconnect`. `/ide` in it connects it again"):format(who)
      )
    elseif lost.tries then
      vim.health.info(("%s: the connection is lost, and the CLI tries to connect again"):format(who))
    else
      vim.health.warn(
        ("%s: the connection is lost, and the CLI no longer tries to connect again"):format(who),
        "Type /ide in the CLI."
      )
    end
  end
end

local function check_clients()
  vim.health.start("Which CLIs are connected?")
  local clients = ide_server.clients()
  if #clients == 0 then
    vim.health.info("None. `:Claude` starts one; in a CLI in another terminal type /ide.")
  end
  local folders = workspace.folders()
  for _, client in ipairs(clients) do
    local text = ("%s %s, pid %s, %s, in %s%s"):format(
      client.name or "unnamed",
      client.version or "",
      client.pid or "unknown",
      client.state == "ready" and "ready" or "connecting",
      #client.roots > 0 and table.concat(client.roots, ", ") or "an unknown folder",
      client.mapped and " (under another path: workspace.path_map)" or ""
    )
    local inside = vim.iter(client.roots):any(function(root)
      return vim.iter(folders):any(function(folder)
        return paths.within(root, folder)
      end)
    end)
    if inside or #client.roots == 0 then
      vim.health.ok(text)
    else
      vim.health.warn(text, "This CLI works outside of the project: " .. table.concat(folders, ", "))
    end
  end
  check_lost()
  vim.health.info(
    "/mcp lists only getDiagnostics and executeCode: the CLI uses the other IDE tools (openDiff, openFile, …) itself"
  )
end

local function check_hooks()
  vim.health.start("Are requests shown in Neovim?")
  local disabled_by = hooks.disabled_by()
  if not config.get().hooks.enabled then
    vim.health.info("No: Claude asks in its terminal only, since hooks.enabled is false")
  elseif disabled_by then
    vim.health.warn(
      ("No: Claude asks in its terminal only, since disableAllHooks is set in %s"):format(disabled_by),
      { "Remove it, or set hooks.enabled to false" }
    )
  else
    vim.health.ok("Requests of a Claude that `:Claude` starts are shown in Neovim, too")
    local folder = workspace.folders()[1]
    local is_written = hooks.are_written(folder)
    vim.health.info(
      is_written and "So are requests of a claude in another terminal (`:Claude hooks remove` reverts that)"
        or "Requests of a claude in another terminal are not: run `:Claude hooks write` in the project"
    )
  end
end

local function check_plugins()
  vim.health.start("Which optional plugins are found?")
  local plugins = {
    { "snacks", "snacks.nvim", 'terminal.provider = "snacks", and mentions from its explorer and picker' },
    { "conform", "conform.nvim", "the formatter of the tool reformat_file" },
    { "lualine", "lualine.nvim", 'the component "claude"' },
  }
  for _, plugin in ipairs(plugins) do
    local module, name, use = unpack(plugin)
    local found = #vim.api.nvim_get_runtime_file(("lua/%s/init.lua"):format(module), false) > 0
      or #vim.api.nvim_get_runtime_file(("lua/%s.lua"):format(module), false) > 0
    vim.health.info(("%s: %s (%s)"):format(name, found and "found" or "not installed", use))
  end
  vim.health.info("Log file: " .. log.path())
end

---The agents for chats, and their commands.
local function check_agents()
  vim.health.start("Which other agents are installed?")
  local own = config.get().agents
  for _, name in ipairs(agents.names()) do
    local agent, err = agents.get(name)
    local path = agent and vim.fn.exepath(agent.cmd[1] --[[@as string]]) or ""
    if agent and path ~= "" then
      vim.health.ok(("%s: %s"):format(name, table.concat(vim.list_extend({ path }, agent.cmd, 2), " ")))
    elseif own[name] then
      vim.health.warn(agent and ("%s: `%s` was not found"):format(name, agent.cmd[1]) or err or name)
    else
      vim.health.info(("%s: not installed (%s)"):format(name, agent and agent.hint or "?"))
    end
  end
end

---Timeout of a Python check.
local PYTHON_MS = 20000

local function check_notebooks()
  vim.health.start("Can Claude run Python?")
  if vim.list_contains(config.get().tools.hidden, "executeCode") then
    return vim.health.info("executeCode is not offered: it is in tools.hidden")
  end
  local found, missing
  notebook_interpreter.look(function(interpreter, problem)
    found, missing = interpreter, problem
  end)
  vim.wait(PYTHON_MS, function()
    return found ~= nil or missing ~= nil
  end, 10)
  if found then
    local kernel = found.kernel and (", for the kernel %s"):format(found.kernel) or ""
    vim.health.ok(("executeCode: %s (%s, Python %s)%s"):format(found.path, found.from, found.version, kernel))
  else
    local what = "executeCode is not offered: "
      .. (missing and missing.what or "No Python reported its packages.")
    local advice = missing and missing.remedy and ("Run `%s`"):format(missing.remedy)
      or "Install Python and ipykernel, or set their path: notebook.kernel"
    if config.get().notebook.kernel then
      vim.health.warn(what, { advice })
    else
      vim.health.info(("%s %s"):format(what, advice)) -- optional
    end
  end
  for _, kernel in ipairs(notebook.list()) do
    vim.health.info(("Kernel of %s: %s %s"):format(kernel.name, kernel.state, kernel.about or ""))
  end
end

function M.check()
  check_neovim()
  check_options()
  check_library()
  check_copies()
  check_folders()
  check_cli()
  health_server.check()
  surroundings.check()
  check_clients()
  check_hooks()
  sessions.check()
  journal.check()
  check_notebooks()
  check_agents()
  check_plugins()
end

return M
