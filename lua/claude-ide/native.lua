-- The native library: finding it, loading it, calling it. The only module that touches it.
-- Nothing here raises: where the library is missing, broken or of another version, every function answers nil and a
-- sentence that says what to do.

---The functions of the library; this module has them too, and loads it at the first call.
---@class claude-ide.native.Functions
---@field start fun(options_json: string, async: uv.uv_async_t): claude-ide.server.Info?, string?
---@field stop fun(): boolean?, string?
---@field poll fun(): table?, string?
---@field respond fun(id: integer, json: string): boolean?, string?
---@field fail fun(id: integer, code: "invalid_params"|"failed", message: string): boolean?, string?
---@field notify fun(method: string, params_json: string, client_id?: integer): boolean?, string?
---@field set_workspace fun(json: string): boolean?, string?
---@field status fun(): table?, string?
---@field sessions_start fun(options_json: string, async: uv.uv_async_t): boolean?, string?
---@field sessions_stop fun(): boolean?, string?
---@field session_request fun(request_json: string): integer?, string?
---@field session_cancel fun(number: integer): boolean?, string?

---@class claude-ide.native : claude-ide.native.Functions
local M = {}

---The version that the library must have: that of `Cargo.toml`. A test compares the two.
M.VERSION = "0.1.0"

local ENTRY_POINT = "luaopen_claude_ide_native"
local NAMES = { "claude_ide_native.so", "claude_ide_native.dylib" }

---@class claude-ide.native.Library : claude-ide.native.Functions
---@field version fun(): string

---@type claude-ide.native.Library?
local library

---Where this plugin lies.
---@return string
function M.plugin_root()
  local source = debug.getinfo(1, "S").source:gsub("^@", "")
  return vim.fn.fnamemodify(source, ":p:h:h:h")
end

---The command that makes the library: the plugin manager's where that one looks after this folder.
---@return string
function M.build_command()
  local lazy = package.loaded["lazy.core.config"]
  for name, plugin in pairs(type(lazy) == "table" and lazy.plugins or {}) do
    if plugin.dir == M.plugin_root() and plugin.build then
      return ":Lazy build " .. name
    end
  end
  return ("make -C %s build"):format(vim.fn.shellescape(M.plugin_root()))
end

---The library's file.
---@return string? path
---@return string? err that it is missing, and what to do
function M.find()
  local folder = M.plugin_root() .. "/build/"
  for _, name in ipairs(NAMES) do
    if vim.uv.fs_stat(folder .. name) then
      return folder .. name
    end
  end
  return nil,
    ("The native library is not built yet. Build it with `%s`. It needs Rust, see https://rustup.rs. There is no %s."):format(
      M.build_command(),
      folder .. NAMES[1]
    )
end

---@return claude-ide.native.Library?
---@return string? err
local function open()
  local path, missing = M.find()
  if not path then
    return nil, missing
  end
  local rebuild = ("Build it again with `%s`, then restart Neovim."):format(M.build_command())
  local entry, reason = package.loadlib(path, ENTRY_POINT)
  if not entry then
    return nil, ("The native library cannot be loaded: %s. %s"):format(reason, rebuild)
  end
  local ok, functions = pcall(entry)
  if not ok or type(functions) ~= "table" or type(functions.version) ~= "function" then
    return nil, ("The native library %s is not the one of this plugin. %s"):format(path, rebuild)
  end
  local version = functions.version()
  if version ~= M.VERSION then
    local message = "The native library %s is version %s, but the plugin is version %s. %s"
    return nil, message:format(path, tostring(version), M.VERSION, rebuild)
  end
  return functions
end

---Loads the library, once it is there. A failure is not remembered: build it and try again.
---@return claude-ide.native.Library?
---@return string? err what is wrong and the command that mends it
function M.load()
  if library then
    return library
  end
  local ok, opened, err = pcall(open)
  if not ok then
    return nil, "The native library cannot be loaded: " .. tostring(opened)
  end
  library = opened
  return library, err
end

---Whether the library is loaded, without trying.
---@return boolean
function M.is_loaded()
  return library ~= nil
end

-- The functions of the library. Each is replaced by the library's own at the first call that finds it.
for _, name in ipairs({
  "start",
  "stop",
  "poll",
  "respond",
  "fail",
  "notify",
  "set_workspace",
  "status",
  "sessions_start",
  "sessions_stop",
  "session_request",
  "session_cancel",
}) do
  M[name] = function(...)
    local loaded, err = M.load()
    if not loaded then
      return nil, err
    end
    M[name] = loaded[name]
    return loaded[name](...)
  end
end

return M
