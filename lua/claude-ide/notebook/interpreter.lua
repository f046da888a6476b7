-- Finds the Python for the kernel: the configured one, else the project's, else one on the PATH. It must have ipykernel.
-- Asynchronous: each candidate is checked in its own process, in turn. The workspace's is cached: searched when the server starts, and
-- again while none is known.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local safely = lazy("claude-ide.base.safely")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local uv = vim.uv

---Timeout of a check. A first start from a slow disk takes seconds.
local PATIENCE_MS = 20000
---ipykernel depends on jupyter_client, so most environments have both.
local CHECK = "import importlib.util as u, sys\n"
  .. "print(sys.version.split()[0], *[m for m in ('ipykernel', 'jupyter_client') if u.find_spec(m)])"

---@class claude-ide.notebook.Interpreter
---@field path string of the Python
---@field from string source, for the user
---@field kernel? string name of an installed kernel to run instead
---@field version string

---@class claude-ide.notebook.Missing
---@field what string sentence for the user
---@field remedy? string command that fixes it

---@class claude-ide.notebook.Candidate
---@field path string
---@field from string
---@field of_project boolean

local function variable(name)
  local value = vim.env[name] --[[@as string?]]
  return value ~= "" and value or nil
end

---Existing Pythons in order of preference.
---@param folder string of the project
---@return claude-ide.notebook.Candidate[]
local function candidates_in(folder)
  local found, seen = {}, {} ---@type claude-ide.notebook.Candidate[], table<string, true>
  local function add(path, from, of_project)
    if path and path ~= "" and not seen[path] and vim.fn.executable(path) == 1 then
      seen[path] = true
      found[#found + 1] = { path = path, from = from, of_project = of_project }
    end
  end
  local function add_environment(root, from)
    if root then
      add(root .. "/bin/python", from, true)
    end
  end
  local conda = variable("CONDA_PREFIX")
  local is_base = variable("CONDA_DEFAULT_ENV") == "base" -- active in every shell, so no hint at the project
  add_environment(variable("VIRTUAL_ENV"), "$VIRTUAL_ENV")
  if not is_base then
    add_environment(conda, "$CONDA_PREFIX")
  end
  -- `uv`'s setting for a project's environment, by default `.venv`.
  local of_uv = variable("UV_PROJECT_ENVIRONMENT")
  if of_uv and uv.fs_stat(folder .. "/pyproject.toml") then
    add_environment(of_uv:sub(1, 1) == "/" and of_uv or folder .. "/" .. of_uv, "$UV_PROJECT_ENVIRONMENT")
  end
  for _, name in ipairs({ ".venv", "venv", "env", ".pixi/envs/default" }) do
    add_environment(folder .. "/" .. name, name)
  end
  if is_base then
    add_environment(conda, "$CONDA_PREFIX")
  end
  for _, name in ipairs({ "python3", "python" }) do
    add(vim.fn.exepath(name), name .. " on the PATH", false)
  end
  return found
end

---@param done fun(version?: string, has: table<string, true>) later, on the main loop
local function ask(python, done)
  local finish = vim.schedule_wrap(function(result)
    local words = result and result.code == 0 and vim.split(vim.trim(result.stdout or ""), "%s+") or {}
    local has = {}
    for _, word in ipairs(words) do
      has[word] = true
    end
    done(words[1], has)
  end)
  -- In `/`: the project may contain a folder named ipykernel.
  local options = { text = true, timeout = PATIENCE_MS, cwd = "/", stderr = false }
  if not pcall(vim.system, { python, "-c", CHECK }, options, finish) then
    finish(nil)
  end
end

---The command that installs ipykernel for the first candidate.
---@param first? claude-ide.notebook.Candidate
local function remedy(folder, first)
  if not first then
    return nil
  elseif first.of_project and vim.fn.executable("uv") == 1 then
    local is_uvs = uv.fs_stat(folder .. "/uv.lock") and vim.startswith(first.path, folder .. "/")
    return is_uvs and "uv add --dev ipykernel" or "uv pip install --python " .. first.path .. " ipykernel"
  end
  return first.path .. " -m pip install ipykernel"
end

---@param chosen string `notebook.kernel`
---@return claude-ide.notebook.Candidate? candidate nil: the name of a kernel
---@return string? err
local function named(chosen)
  local path = vim.fn.fnamemodify(chosen, ":p")
  if not chosen:find("/", 1, true) then
    return nil
  elseif uv.fs_stat(path .. "/bin/python") then
    path = vim.fs.normalize(path) .. "/bin/python"
  end
  if vim.fn.executable(path) ~= 1 or vim.fn.isdirectory(path) == 1 then
    return nil, ("notebook.kernel: there is no Python at %s."):format(chosen)
  end
  return { path = path, from = "notebook.kernel", of_project = true }
end

---@param folder string of the project
---@param done fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing) later
function M.find(folder, done)
  local chosen = config.get().notebook.kernel
  local candidates, kernel = candidates_in(folder), nil ---@type claude-ide.notebook.Candidate[], string?
  if chosen then
    local one, err = named(chosen)
    if err then
      return vim.schedule(function()
        done(nil, { what = err })
      end)
    end
    candidates, kernel = one and { one } or candidates, not one and chosen or nil
  end
  -- A kernel of another language only needs the client.
  local needs = kernel and "jupyter_client" or "ipykernel"
  local function try(index)
    local candidate = candidates[index]
    if not candidate then
      local first = candidates[1]
      local what = first and ("%s (%s) has no %s."):format(first.path, first.from, needs)
        or "There is no Python on the PATH or in the project."
      return vim.schedule(function()
        done(nil, { what = what, remedy = remedy(folder, first) })
      end)
    end
    ask(candidate.path, function(version, has)
      if version and has[needs] then
        done({ path = candidate.path, from = candidate.from, version = version, kernel = kernel })
      else
        try(index + 1)
      end
    end)
  end
  try(1)
end

---@class claude-ide.notebook.Looked
---@field found? claude-ide.notebook.Interpreter
---@field missing? claude-ide.notebook.Missing

---Results by folder and configured kernel.
---@type table<string, claude-ide.notebook.Looked>
local looked = {}
---Callbacks of running searches, by the same key.
---@type table<string, (fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing))[]>
local looking = {}

---Key of the current search: folder and `notebook.kernel`.
local function wanted()
  return workspace.folders()[1] .. "\0" .. (config.get().notebook.kernel or "")
end

---Searches the workspace's Python, again if it was known: it may have been installed or removed.
---@param done? fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing)
function M.look(done)
  done = done or function() end
  local of = wanted()
  if looking[of] then
    return table.insert(looking[of], done)
  end
  looking[of] = { done }
  M.find(workspace.folders()[1], function(found, missing)
    local waiting = looking[of] or {}
    looking[of], looked[of] = nil, { found = found, missing = missing }
    bus.emit("abilities_changed")
    for _, tell in ipairs(waiting) do
      safely.wrap("use a Python", tell)(found, missing)
    end
  end)
end

---The workspace's Python; searches it if unknown.
---@param done fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing)
function M.interpreter(done)
  local known = looked[wanted()]
  if known and known.found then
    done(known.found)
  else
    M.look(done)
  end
end

---Whether a Python is known.
---@return boolean
function M.is_available()
  local known = looked[wanted()]
  return known ~= nil and known.found ~= nil
end

---Why there is none, if known.
---@return claude-ide.notebook.Missing?
function M.missing()
  local known = looked[wanted()]
  return known and known.missing
end

local look_again_later = require("claude-ide.base.once")(function()
  bus.on("client_connected", function()
    if not M.is_available() then
      M.look()
    end
  end)
end)

---Searches now, and again when clients connect while there is none.
function M.attach()
  if not M.is_available() then
    M.look()
  end
  look_again_later()
end

return M
