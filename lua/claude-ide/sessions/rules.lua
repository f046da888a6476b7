-- Whether a rule may let a CLI run a shell command without asking. Rules are in settings, in the CLI's arguments, and in commands and
-- skills of the user's. A superset of what the CLI does: a rule counts if its words before a `*` are anywhere in the command.
local lazy = require("claude-ide.lazy")
local ide_file = lazy("claude-ide.base.file")
local json_table = lazy("claude-ide.base.json_table")
local live = lazy("claude-ide.sessions.live")
local server = lazy("claude-ide.server")
local settings_files = lazy("claude-ide.sessions.settings")
local transport = lazy("claude-ide.sessions.transport")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Limits of a file with rules, and of the files of commands and skills.
local MAX_BYTES, MAX_FILES = 1024 * 1024, 300

---@param path string
---@return string
local function text_of(path)
  return ide_file.read_now(path, MAX_BYTES) or ""
end

---@param client? integer
---@return string config of the user's
---@return string project
local function folders(client)
  local known = client and server.client(client)
  local session = known and not known.mapped and live.of_pid(known.pid)
  return session and session.config_dir or transport.config_dir(), workspace.of_client(client)
end

---The settings of the user, the project and the computer that exist.
---@param client? integer whose project; default: the main one
---@return { path: string, settings: table }[]
function M.settings(client)
  return vim.tbl_filter(function(one)
    return one.settings ~= nil
  end, settings_files.read(folders(client))) --[[@as { path: string, settings: table }[] ]]
end

---The rules of settings that allow something, one a line.
---@param settings table
---@return string
local function allowed_in(settings)
  local allow = vim.tbl_get(settings, "permissions", "allow")
  local rules = vim.tbl_filter(function(rule)
    return type(rule) == "string"
  end, type(allow) == "table" and allow or {})
  return table.concat(rules, "\n")
end

---Limit of an answer of `ps`.
local PS_MS = 5000

---Asks for the arguments of a process, one a line. Without /proc `ps` tells them, in one line.
---@param pid integer
---@param done fun(arguments?: string) nil: unknown
local function with_arguments(pid, done)
  local file = io.open(("/proc/%d/cmdline"):format(pid))
  if file then
    local words = file:read("*a") or ""
    file:close()
    return done((words:gsub("%z", "\n")))
  end
  local command = { "ps", "-ww", "-o", "args=", "-p", tostring(pid) }
  local ok = pcall(vim.system, command, { text = true, timeout = PS_MS }, function(ps)
    vim.schedule(function()
      done(ps.code == 0 and ps.stdout or nil)
    end)
  end)
  if not ok then
    done(nil)
  end
end

---The heads of commands and skills, which may have rules of their own.
---@param client integer
---@return string[]
local function heads(client)
  local config, project = folders(client)
  local texts = {}
  for _, folder in ipairs({ config, project .. "/.claude" }) do
    for _, kind in ipairs({ "commands", "skills" }) do
      local files = vim.fs.find(function(name)
        return name:find("%.md$") ~= nil
      end, { path = folder .. "/" .. kind, type = "file", limit = MAX_FILES })
      for _, path in ipairs(files) do
        texts[#texts + 1] = text_of(path):match("^%-%-%-\n.-\n%-%-%-")
      end
    end
  end
  return texts
end

---@param text string with rules
---@param command string
---@return boolean
local function has_rule(text, command)
  for rule in text:gmatch("Bash%b()") do
    local words = vim.trim((rule:sub(6, -2):gsub(":?%*.*", "")))
    if command:find(words, 1, true) then
      return true
    end
  end
  return text:find("%f[%w]Bash%f[^%w(]") ~= nil -- all commands
end

---The rules of a file of settings that a CLI was given.
---@param arguments string
---@return string? nil: unknown
local function given(arguments)
  local path = arguments:match("%-%-settings[= \n](/[^\n]+)")
  while path and not vim.uv.fs_stat(path) do
    path = path:match("^(.*) ") -- of a line of `ps`, more arguments follow
  end
  local settings = json_table(path and text_of(path) or "{}")
  return settings and allowed_in(settings)
end

---@param client integer
---@param arguments string
---@param command string
---@return boolean
local function allows(client, arguments, command)
  local texts = vim.list_extend({ arguments }, heads(client))
  for _, one in ipairs(M.settings(client)) do
    if one.settings.sandbox ~= nil then
      return true -- it may run commands in a sandbox unasked
    end
    texts[#texts + 1] = allowed_in(one.settings)
  end
  texts[#texts + 1] = given(arguments)
  return vim.iter(texts):any(function(text)
    return has_rule(text, command)
  end)
end

---@param client integer
---@param command string
---@param done fun(may: boolean) also if that is unknown
function M.may_allow(client, command, done)
  local known = server.client(client)
  if not known or not known.pid or known.mapped then
    return done(true)
  end
  with_arguments(known.pid, function(arguments)
    done(not arguments or allows(client, arguments, command))
  end)
end

return M
