-- Finds, loads and calls the native library. The only module that does.
-- Nothing raises: if the library is missing, broken or of another version, every function returns nil and a sentence with advice.

local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local log = lazy("claude-ide.base.log")
local one_line = lazy("claude-ide.base.one_line")
local root = lazy("claude-ide.base.root")
local update = lazy("claude-ide.library.update")

---Functions of the library, which this module also has; the first call loads it.
---@class claude-ide.native.Functions
---@field start fun(options_json: string, async: uv.uv_async_t): claude-ide.server.Info?, string?
---@field stop fun(is_exiting?: boolean): boolean?, string?
---@field poll fun(): table?, string?
---@field respond fun(id: integer, json: string): boolean?, string?
---@field fail fun(id: integer, code: "invalid_params"|"failed", message: string): boolean?, string?
---@field notify fun(method: string, params_json: string, client_id?: integer): boolean?, string?
---@field disconnect fun(client_id: integer): boolean?, string?
---@field set_available fun(endpoint: string, names_json: string): boolean?, string?
---@field symbol_kinds fun(): string[]?, string?
---@field lsp_methods fun(): string[]?, string?
---@field writing_tools fun(): string[]?, string?
---@field settings_with_hooks fun(text: string?, hooks_json: string): string?, string?
---@field agents_token fun(): string?, string?
---@field begin_run fun(name: string, endpoint: "nvim"|"mod"): string?, string?
---@field set_offers fun(json: string): string[]?, string?
---@field set_workspace fun(json: string): boolean?, string?
---@field misleading_for_git fun(): string[]?, string?
---@field worktrees fun(top: string): claude-ide.workspace.Repository?, string? nil: no repository
---@field status fun(): table?, string?
---@field sessions_start fun(options_json: string, async: uv.uv_async_t): boolean?, string?
---@field sessions_stop fun(): boolean?, string?
---@field session_request fun(request_json: string): integer?, string?
---@field session_cancel fun(number: integer): boolean?, string?
---@field render_growth fun(tail: string, added: string): { lines: string[], first: integer, tail: string }?, string? nil: render everything
---@field digest fun(bytes: string): string?, string? 40 digits that tell these bytes from others; Neovim's own needs 7 ms the first time
---@field age fun(milliseconds: number): string?, string?
---@field plain_text fun(text: string): string?, string?
---@field plain_lines fun(text: string): string[]?, string?
---@field typed_text fun(text: string): string?, string?
---@field typed_keys fun(text: string, may_command: boolean): string?, string?
---@field web_start fun(options_json: string, async: uv.uv_async_t): claude-ide.web.Info?, string?
---@field web_stop fun(): boolean?, string?
---@field web_info fun(): claude-ide.web.Info?, string?
---@field web_code fun(): string?, string?
---@field web_picture fun(text: string): string[]?, string?
---@field web_tell fun(told_json: string): boolean?, string?
---@field agent_open fun(options_json: string, async: uv.uv_async_t): integer?, string?
---@field agent_next fun(number: integer, now: integer): claude-ide.chat.Event?
---@field chat_transcript_new fun(): integer
---@field chat_transcript fun(number: integer, now: integer, request_json: string): any, string?
---@field chat_transcript_drop fun(number: integer): boolean
---@field agent_command fun(number: integer, command_json: string): boolean?, string?
---@field agent_close fun(number: integer): boolean?, string?
---@field agents_stop fun(): boolean?, string?
---@field group_keep fun(pid: integer): integer?, string? terminates the process group with Neovim
---@field group_end fun(number: integer): boolean?, string? SIGTERM, SIGKILL after three seconds
---@field merge fun(base: string, mine: string, theirs: string): { text: string, overlaps: integer }?, string?
---@field diff fun(old: string, new: string): integer[]?, string? four numbers a hunk, as in `claude-ide.buffer.Hunk`
---@field text fun(bytes: string): { text: string, encoding: string }?, string? of a file that is not in UTF-8
---@field rewrite fun(path: string, bytes: string, mode?: integer): boolean?, string? whole or not at all, where it stays the same file; mode: of a new one
---@field overwrite fun(path: string, bytes: string): boolean?, string? writes into the file as it is
---@field notebook_read fun(text: string): claude-ide.notebook.Notebook?, string?
---@field notebook_put fun(text: string, ran_json: string): string?, string?
---@field checkpoint fun(wanted: string, ...: any): any, string? only for `edits/journal/checkpoints.lua`
---@field privacy fun(operation: string, ...: string): any, string? only for `server/privacy.lua`
---@field comments fun(folder: string, root: string, request_json: string, text?: string): any, string? only for `comments/store.lua`
---@field journal fun(operation: string, ...: any): any, string? only for `edits/journal/store.lua`

---@class claude-ide.native : claude-ide.native.Functions
local M = {}

---Required version of the library, that of `Cargo.toml`. A test compares them.
M.VERSION = "0.1.0"

local ENTRY_POINT = "luaopen_claude_ide_native"
local NAMES = { "claude_ide_native.so", "claude_ide_native.dylib" }

---@class claude-ide.native.Library : claude-ide.native.Functions
---@field version fun(): string
---@field sources fun(): string
---@field sources_beside fun(root: string): string?, string? nil: none, or unreadable

---@type claude-ide.native.Library?
local library

---Why the library cannot be used, and how to fix it. All but `detail` are short.
---@class claude-ide.native.Problem
---@field what string "The library is not installed yet"
---@field remedy? string command that fixes it; nil: restarting Neovim does
---@field restart boolean whether Neovim must be restarted after that
---@field detail string for the log and the health check

---Of the last attempt to load it.
---@type claude-ide.native.Problem?
local problem

---The plugin's folder.
---@return string
function M.plugin_root()
  return root.dir()
end

---The command that installs the library.
local INSTALL = ":Claude install"

---@return string? path
function M.find()
  local folder = M.plugin_root() .. "/build/"
  for _, name in ipairs(NAMES) do
    if vim.uv.fs_stat(folder .. name) then
      return folder .. name
    end
  end
  return nil
end

---@return claude-ide.native.Problem
local function problem_of(what, detail, restart)
  return { what = what, remedy = INSTALL, detail = detail, restart = restart }
end

---Whether the library is built here by its developer, as `make build-dev` does: a download would be of older sources.
---@return boolean
local function is_developed()
  local folder = M.plugin_root() .. "/target/debug/lib"
  return vim.iter(NAMES):any(function(name)
    return vim.uv.fs_stat(folder .. name) ~= nil
  end)
end

---A working library that does not match this Lua code.
---@return claude-ide.native.Problem
local function misfit(what, detail)
  if update.is_outdated() then
    return { what = "The plugin was updated on disk", detail = detail, restart = true }
  elseif is_developed() then
    return { what = what, remedy = "make build-dev", detail = detail, restart = true }
  end
  return problem_of(what, detail, true)
end

local ELF, HEADER = "\127ELF", 64

---@param at integer 0-based
---@param big boolean big-endian
local function number(bytes, at, size, big)
  local value = 0
  for index = 0, size - 1 do
    value = value * 256 + bytes:byte(at + (big and index or size - 1 - index) + 1)
  end
  return value
end

---End of the section table, which linkers write last.
local function promised(header)
  local wide, big = header:byte(5) == 2, header:byte(6) == 2
  if wide then
    return number(header, 0x28, 8, big) + number(header, 0x3A, 2, big) * number(header, 0x3C, 2, big)
  end
  return number(header, 0x20, 4, big) + number(header, 0x2E, 2, big) * number(header, 0x30, 2, big)
end

---Whether a library file is complete. Loading a truncated one kills Neovim with SIGBUS, since the loader maps the sizes in the header.
---ELF only: macOS checks it, and the loader rejects other files.
local function is_whole(path)
  local header, stat = file.read_start(path, HEADER), vim.uv.fs_stat(path)
  if not header or not stat then
    return true
  end
  if #header < HEADER then
    return false
  end
  return header:sub(1, 4) ~= ELF or stat.size >= promised(header)
end

---@return claude-ide.native.Library?
---@return claude-ide.native.Problem?
local function open()
  local path = M.find()
  if not path then
    local detail = ("There is no %s/build/%s."):format(M.plugin_root(), NAMES[1])
    return nil, problem_of("The library is not installed yet", detail, false)
  elseif not is_whole(path) then
    return nil, problem_of("The library is broken", path .. " ends too early.", false)
  end
  local entry, reason = package.loadlib(path, ENTRY_POINT)
  if not entry then
    return nil, problem_of("The library is broken", ("%s cannot be loaded: %s"):format(path, reason), false)
  end
  local ok, functions = pcall(entry)
  if not ok or type(functions) ~= "table" or type(functions.version) ~= "function" then
    return nil, problem_of("The library is broken", path .. " is not the library of this plugin.", true)
  end
  local version = functions.version()
  if version ~= M.VERSION then
    local detail = ("%s is of version %s, the plugin of %s."):format(path, tostring(version), M.VERSION)
    return nil, misfit(("The library is of version %s"):format(tostring(version)), detail)
  end
  if type(functions.sources) ~= "function" or type(functions.sources_beside) ~= "function" then
    local detail = path .. " is of older sources than the plugin: it does not tell which."
    return nil, misfit("The library does not fit the plugin", detail)
  end
  -- They may differ after an update whose build failed.
  local expected, unread = functions.sources_beside(M.plugin_root())
  if unread then
    log.warn("whether the library fits the plugin is not known: %s", unread)
  end
  if expected and functions.sources() ~= expected then
    local detail = "%s was built from other sources (%s) than those in %s/crates (%s)."
    return nil,
      misfit(
        "The library does not fit the plugin",
        detail:format(path, functions.sources(), M.plugin_root(), expected)
      )
  end
  return functions
end

---The problem and the fix, on one line.
---@param found claude-ide.native.Problem
local function sentence(found)
  if not found.remedy then
    return found.what .. ": restart Neovim."
  end
  local after = found.restart and ", then restart Neovim" or ""
  return one_line.fitting({
    ("%s: `%s`%s."):format(found.what, found.remedy, after),
    ("%s: `%s`."):format(found.what, found.remedy),
    ("%s: see `:checkhealth claude-ide`."):format(found.what),
    "No library: `:checkhealth claude-ide`.",
  })
end

---Loads the library. A failure is not cached: it may be built meanwhile.
---@return claude-ide.native.Library?
---@return string? err the problem and the fix
function M.load()
  if library then
    return library
  end
  local before = problem
  local ok, opened, found = pcall(open)
  if ok then
    library, problem =
      opened, --[[@as claude-ide.native.Library?]]
      found
  else
    problem = problem_of("The library is broken", tostring(opened), true)
  end
  if not problem then
    return library
  end
  if not before or before.detail ~= problem.detail then
    log.error("%s: %s", problem.what, problem.detail)
  end
  return nil, sentence(problem)
end

---The problem of the last attempt to load; nil: not attempted, or loaded.
---@return claude-ide.native.Problem?
function M.problem()
  return problem
end

---Whether the library is loaded; does not load it.
---@return boolean
function M.is_loaded()
  return library ~= nil
end

-- Any other field is a function of the library, which the first successful call keeps.
setmetatable(M, {
  __index = function(_, name)
    return function(...)
      local loaded, err = M.load()
      if not loaded then
        return nil, err
      elseif not loaded[name] then
        local found = misfit("The library does not fit the plugin", ("It has no %s()."):format(name))
        log.error("%s: %s", found.what, found.detail)
        return nil, sentence(found)
      end
      M[name] = loaded[name]
      return loaded[name](...)
    end
  end,
})

return M
