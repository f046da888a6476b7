-- The hooks of our CLIs: permission requests of the terminal are also shown here, and so is Claude's text line by line, in transcripts and
-- on the page. The hooks call tools of the server over the CLI's own connection: crates/server/src/hooks.rs.
-- Source: CLI 2.1.329. If `--settings` is given twice, only the last counts, so the user's are merged with ours; hooks in other settings
-- run as well. `${field}` is replaced with a field of the hook's input, once: the inserted text is not expanded again.
-- What Claude is told about the editor goes through hook_folder.lua.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local file = lazy("claude-ide.base.file")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local json_table = lazy("claude-ide.base.json_table")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local rules = lazy("claude-ide.sessions.rules")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---A call waits for the user as long as its dialog does. Lines are shown only after their hook has answered: a stopped Neovim must not
---delay them for long. Each batch waits on its own, so the delay does not grow.
local ASK_TIMEOUT_S, SHOW_TIMEOUT_S = 24 * 3600, 0.3

---Tools that only show the user words beside the code. A rule of the user's that denies or asks comes first.
local TO_THE_USER = { "mcp__nvim__comments", "mcp__nvim__comment_reply", "mcp__nvim__comment_add" }

---Size limit of a file of settings.
local MAX_SETTINGS = 1024 * 1024

---@param tool string
---@param timeout_s number
---@param fields table<string, string> of the hook's input, by argument
---@return table
local function hook(tool, timeout_s, fields)
  local input = vim.tbl_map(function(field)
    return ("${%s}"):format(field)
  end, fields)
  return { type = "mcp_tool", server = "ide", tool = tool, timeout = timeout_s, input = input }
end

---The hooks by which Neovim answers. Without it they are silent, so a settings file may keep them.
---@return table<string, table> by event
local function asking()
  local ask = hook("hook_permission", ASK_TIMEOUT_S, {
    tool = "tool_name",
    input = "tool_input",
    suggestions = "permission_suggestions",
    agent = "agent_id",
    agent_type = "agent_type",
    transcript = "transcript_path",
  })
  local form = hook("hook_form", ASK_TIMEOUT_S, {
    server = "mcp_server_name",
    message = "message",
    schema = "requested_schema",
    url = "url",
  })
  local wait = tostring(config.get().hooks.held_dialog_s)
  ask.input.wait, form.input.wait = wait, wait
  -- Edits are asked for as diffs, except those of notebooks (2.1.329).
  local are_diffs = vim.tbl_filter(function(tool)
    return tool ~= "NotebookEdit"
  end, native.writing_tools() or {})
  local edits = table.concat(are_diffs, "|")
  return {
    PermissionRequest = { matcher = ("^(?!(%s)$).*"):format(edits), hooks = { ask } },
    Elicitation = { hooks = { form } },
  }
end

---@param folder string
---@return string path of the settings that are only for this user and project
local function settings_of(folder)
  return folder .. "/.claude/settings.local.json"
end

---@param folder string
---@param hooks table<string, table> by event, in place of those that it has
---@return string? text with them; "": nothing is left
---@return string? err
---@return string? before nil: there is no file
local function settings_with(folder, hooks)
  local path = settings_of(folder)
  local before, why = file.read_now(path, MAX_SETTINGS)
  if not before and vim.uv.fs_stat(path) then
    return nil, ("%s cannot be read: %s"):format(path, why or "unknown")
  elseif before and position.valid(before) ~= before then
    return nil, ("%s stays as it is: it is not UTF-8"):format(vim.fn.fnamemodify(path, ":~:."))
  end
  local json = next(hooks) and vim.json.encode(hooks) or "{}"
  local text, err = native.settings_with_hooks(before, json)
  return text, err and ("%s stays as it is: %s"):format(vim.fn.fnamemodify(path, ":~:."), err), before
end

---Whether the settings of a folder have the hooks, so that a CLI gets them by itself.
---@param folder string
---@return boolean
function M.are_written(folder)
  local text, _, before = settings_with(folder, {})
  return before ~= nil and text ~= nil and text ~= before
end

---The settings that give another CLI the hooks.
---@return string? json
---@return string? err
function M.settings()
  return native.settings_with_hooks(nil, vim.json.encode(asking()))
end

---Writes the hooks to the project's local settings, or takes them out.
---@param is_wanted boolean
---@return string? path
---@return string? err
function M.keep(is_wanted)
  local folder = workspace.folders()[1]
  local path = settings_of(folder)
  local text, err, before = settings_with(folder, is_wanted and asking() or {})
  if not text then
    return nil, err
  elseif text == (before or "") then
    return path
  elseif text == "" then
    local ok, why = vim.uv.fs_unlink(path)
    return ok and path or nil, why
  end
  local target = paths.real(path)
  local stat = vim.uv.fs_stat(target)
  if not stat and vim.uv.fs_lstat(path) then
    return nil,
      ("%s stays as it is: it is a link to a file that does not exist"):format(
        vim.fn.fnamemodify(path, ":~:.")
      )
  elseif not file.make_folder(vim.fs.dirname(path)) then
    return nil, ("%s cannot be created"):format(vim.fs.dirname(path))
  end
  local mode = stat and stat.mode or tonumber("644", 8) --[[@as integer]]
  if not file.replace(target, text, mode) then
    return nil, ("%s cannot be written"):format(path)
  end
  return path
end

---@param asks_here boolean the CLI asks over its own pipe
---@param cwd string
---@return table<string, table[]> by event
local function ours(asks_here, cwd)
  local all = hook_folder.hooks(asks_here)
  local function add(hooks)
    for event, one in pairs(hooks) do
      all[event] = all[event] or {}
      table.insert(all[event], one)
    end
  end
  if asks_here then
    return all
  elseif not M.are_written(cwd) then
    add(asking())
  end
  local show = hook("hook_display", SHOW_TIMEOUT_S, {
    session = "session_id",
    agent = "agent_id",
    message = "message_id",
    index = "index",
    final = "final",
    delta = "delta",
  })
  add({ MessageDisplay = { hooks = { show } } })
  return all
end

---@param words string[]
---@return string[] words without `--settings`
---@return string? settings the last ones: JSON, or the path of a file
local function without_settings(words)
  local rest, settings = {}, nil ---@type string[], string?
  local at = 1
  while at <= #words and words[at] ~= "--" do
    local value = words[at]:match("^%-%-settings=(.*)$")
    if words[at] == "--settings" then
      at = at + 1
      value = words[at]
    end
    settings = value or settings
    rest[#rest + 1] = not value and words[at] or nil
    at = at + 1
  end
  return vim.list_extend(rest, words, at), settings
end

---@param settings string
---@param cwd string
---@return table
local function read(settings, cwd)
  if not settings:find("^%s*{") then
    settings = assert(file.read_now(paths.normalize(settings, cwd), MAX_SETTINGS), "it cannot be read")
  end
  return vim.json.decode(settings)
end

---@param settings string?
---@param cwd string
---@param asks_here boolean
---@return string json
local function merged(settings, cwd, asks_here)
  local all = settings and read(settings, cwd) or {}
  all.hooks = all.hooks or {}
  for event, added in pairs(ours(asks_here, cwd)) do
    local present = all.hooks[event] or {}
    assert(vim.islist(present), "its hooks are not a list")
    all.hooks[event] = vim.list_extend(present, added)
  end
  all.permissions = all.permissions or {}
  local allow = all.permissions.allow or {}
  assert(vim.islist(allow), "its permissions.allow is no list")
  all.permissions.allow = vim.list_extend(allow, TO_THE_USER)
  return vim.json.encode(all)
end

---Arguments for a CLI that is to edit in its folder although it runs in the background: by itself it would refuse until it has made a
---worktree. Settings in a file are not changed.
---@param words string[]
---@return string[] words
function M.in_place(words)
  local plain, settings = without_settings(words)
  local all = json_table(settings or "{}")
  if not all then
    return words
  end
  all.worktree =
    vim.tbl_extend("force", type(all.worktree) == "table" and all.worktree or {}, { bgIsolation = "none" })
  return vim.list_extend(plain, { "--settings=" .. vim.json.encode(all) })
end

---The settings of Claude's that switch off all hooks, if any do.
---@return string? path
function M.disabled_by()
  for _, one in ipairs(rules.settings()) do
    if one.settings.disableAllHooks == true then
      return one.path
    end
  end
end

---The arguments that give a CLI its hooks, beside others that it gets; settings among those are taken out of them.
---@param command string[] program and arguments
---@param args string[] more arguments
---@param cwd string
---@param asks_here? boolean it is a chat's
---@return string[] command
---@return string[] hooks
---@return string[] args
function M.of(command, args, cwd, asks_here)
  if not config.get().hooks.enabled then
    return command, {}, args
  end
  local plain_command, of_command = without_settings(command)
  local plain_args, of_args = without_settings(args)
  local ok, json = pcall(merged, of_args or of_command, cwd, asks_here == true)
  local path = ok and file.private(".json", json)
  if not path then
    log.warn("Claude starts without hooks: %s", ok and "no file can be written" or json)
    return command, {}, args
  end
  return plain_command, { "--settings=" .. path }, plain_args
end

return M
