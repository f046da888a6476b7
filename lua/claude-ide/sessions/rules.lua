-- Whether a rule may let a CLI run a shell command without asking. Rules are in settings, in the CLI's arguments, and in commands and
-- skills of the user's. A superset of what the CLI does: a rule counts if its words before a `*` are anywhere in the command.
local M = {}

---Limits of a file with rules, and of the files of commands and skills.
local MAX_BYTES, MAX_FILES = 1024 * 1024, 300

---Settings of the computer's administrator, on Linux and macOS.
local MANAGED = {
  "/etc/claude-code/managed-settings.json",
  "/Library/Application Support/ClaudeCode/managed-settings.json",
}

---@param path string
---@return string
local function text_of(path)
  return require("claude-ide.file").read_now(path, MAX_BYTES) or ""
end

---@return string config of the user's
---@return string project
local function folders()
  return require("claude-ide.sessions.transport").config_dir(), require("claude-ide.workspace").folders()[1]
end

---The settings of the user, the project and the computer that exist.
---@return { path: string, settings: table }[]
function M.settings()
  local config, project = folders()
  local paths = {
    config .. "/settings.json",
    project .. "/.claude/settings.json",
    project .. "/.claude/settings.local.json",
  }
  local found = {}
  for _, path in ipairs(vim.list_extend(paths, MANAGED)) do
    local ok, settings = pcall(vim.json.decode, text_of(path))
    found[#found + 1] = ok and type(settings) == "table" and { path = path, settings = settings } or nil
  end
  return found
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

---The arguments of a process, one a line.
---@param pid integer
---@return string? nil: unknown
local function arguments_of(pid)
  local file = io.open(("/proc/%d/cmdline"):format(pid))
  if file then
    local words = file:read("*a") or ""
    file:close()
    return words:gsub("%z", "\n")
  end
  local ok, ps = pcall(function()
    return vim.system({ "ps", "-ww", "-o", "args=", "-p", tostring(pid) }, { text = true }):wait(1000)
  end)
  return ok and ps.code == 0 and ps.stdout or nil
end

---The heads of commands and skills, which may have rules of their own.
---@return string[]
local function heads()
  local config, project = folders()
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

---@param client integer
---@param command string
---@return boolean also if that is unknown
function M.may_allow(client, command)
  local known = require("claude-ide.server").client(client)
  local arguments = known and known.pid and not known.mapped and arguments_of(known.pid)
  if not arguments then
    return true
  end
  local texts = vim.list_extend({ arguments }, heads())
  for _, one in ipairs(M.settings()) do
    if one.settings.sandbox ~= nil then
      return true -- it may run commands in a sandbox unasked
    end
    texts[#texts + 1] = allowed_in(one.settings)
  end
  local path = arguments:match("%-%-settings[=\n](/[^\n]+)")
  local ok, given = pcall(vim.json.decode, path and text_of(path) or "{}")
  texts[#texts + 1] = ok and type(given) == "table" and allowed_in(given) or nil
  return vim.iter(texts):any(function(text)
    return has_rule(text, command)
  end)
end

return M
