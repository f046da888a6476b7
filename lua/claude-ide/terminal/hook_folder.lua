-- A folder of texts for the CLIs that we start: their command hooks print them, without an answer of this Neovim where that is possible.
-- Invariant: a CLI whose Neovim is gone, stopped or busy works as without hooks. So no hook here is a tool of the server (`mcp_tool`):
-- if the server is not connected, CLI 2.1.329 prints an error for each such hook, except PermissionRequest, Elicitation and
-- MessageDisplay. A command that exits with 0 is silent, and so is one that runs out of time, except for UserPromptSubmit.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local file = lazy("claude-ide.base.file")
local ide_config = lazy("claude-ide.config")
local ide_path = lazy("claude-ide.base.path")
local native = lazy("claude-ide.library.native")
local position = lazy("claude-ide.base.position")
local safely = lazy("claude-ide.base.safely")
local transport = lazy("claude-ide.sessions.transport")

local M = {}

---A hook. In `body`, `p` is the CLI's process, and `ask {name} {times} [{begun}]` creates an empty file and waits until Neovim removes it,
---at most that many times 50 ms; 30 s more while there is a file `begun`.
---@class claude-ide.terminal.FolderHook
---@field event string
---@field matcher? fun(): string
---@field wanted fun(context: claude-ide.Config.context): boolean
---@field body string
---@field in_background? boolean the CLI does not wait for it
---@field of_terminal? boolean not for chats

---@type claude-ide.terminal.FolderHook[]
local HOOKS = {
  {
    event = "PreToolUse",
    matcher = function()
      return table.concat({ "Read", unpack(native.writing_tools() or {}) }, "|")
    end,
    wanted = function(context)
      return context.unsaved ~= "off"
    end,
    -- `files` has lines of a note's number and what a call names its file by. One process reads the call and finds the note, or the
    -- path that the call names: a shell would read byte by byte. Only a path with a link in it needs more.
    body = [[
[ -r files ] || exit
look() {
  real=$2 LC_ALL=C awk -v shows="$1" 'BEGIN {
    real = ENVIRON["real"]
    if (real != "") call = "\"file_path\":\"" real "\""; else getline call
    while (!found && (getline name < "files") > 0) found = index(call, substr(name, index(name, " ") + 1))
    number = name + 0
    if (found && shows == "number") print number
    while (found && shows == "text" && (getline text < ("note." number)) > 0) print text
    if (!found && real == "" && match(call, /"file_path":"[^"\\]*"/)) print substr(call, RSTART + 13, RLENGTH - 14)
  }'
}
note() {
  found=$(look "$1")
  case $found in
    /*) path=$found found= folder=$PWD;;
    *) return;;
  esac
  if [ -L "$path" ]; then
    real=$(readlink -f "$path")
  else
    cd -P "${path%/*}/" && real=${PWD%/}/${path##*/}
    cd "$folder"
  fi
  [ "${real:-$path}" = "$path" ] || found=$(look "$1" "$real")
}
if [ ! -e save ]; then
  note text
  [ -z "$found" ] || printf '%s\n' "$found"
  exit
fi
note number
[ -e "note.$found" ] || exit
ask "save.$found" 40 "saving.$found"
cat "note.$found"]],
  },
  {
    event = "UserPromptSubmit",
    wanted = function(context)
      return context.errors or context.saved or #context.prompt > 0
    end,
    body = [[
: >"turn.$p"
[ ! -e prompt ] || cat prompt]],
  },
  {
    event = "PostToolBatch",
    wanted = function()
      return true
    end,
    body = [[
[ -e "saved.$p" ] && cat "saved.$p" && mv "saved.$p" "told.$p"]],
  },
  {
    event = "Stop",
    wanted = function(context)
      return context.errors
    end,
    body = [[
rm -f "errors.$p"
ask "stop.$p" 60
cat "errors.$p"]],
  },
}

---What events say of a session whose CLI writes no record of it, as those below 2.1: it has run, and there are no records. Refusals and
---interrupts have no event: the CLI notifies after a minute that it is idle.
local ACTIVITIES = {
  SessionStart = "idle",
  UserPromptSubmit = "working",
  PermissionRequest = "waiting",
  PostToolUse = "working",
  PostToolUseFailure = "working",
  Stop = "idle",
  StopFailure = "idle",
  Notification = "idle",
}

for event, activity in vim.spairs(ACTIVITIES) do
  HOOKS[#HOOKS + 1] = {
    event = event,
    matcher = event == "Notification" and function()
      return "idle_prompt"
    end or nil,
    wanted = function()
      local config = transport.config_dir()
      return vim.fn.isdirectory(config .. "/projects") == 1 and vim.fn.isdirectory(config .. "/sessions") == 0
    end,
    body = ([[
echo "%s $CLAUDE_CODE_SESSION_ID $CLAUDE_PROJECT_DIR" >"state.$p"]]):format(activity),
    in_background = event:find("Tool") ~= nil or event == "PermissionRequest",
    of_terminal = true,
  }
end

---A hook's command. The CLI keeps it until it exits. It is not stored in the folder, since commands of the model may be able to write
---there. The trap makes the shell exit with 0, also if a file is missing: another code could stop Claude.
local COMMAND = [[
trap 'exit 0' 0
exec 2>/dev/null
ask() {
  tries=$2 more=600
  : >"$1"
  while [ -e "$1" ] && [ $tries -gt 0 ] && kill -0 $neovim; do
    sleep 0.05
    [ $more -gt 0 ] && [ -e "$3" ] && more=$((more - 1)) || tries=$((tries - 1))
  done
  rm -f "$1"
}
neovim=%d
cd %s && kill -0 $neovim || exit
p=${CLAUDE_PID:-$PPID}
%s]]
---More than the longest `ask`: 2 s, and 30 s for a save that has begun.
local TIMEOUT_S = 35

---Limit of a text for Claude, and of the line that says what was left out.
local MOST_BYTES, LEFT_OUT_BYTES = 2048, 32

---Limits of what a signal says, where it may be longer.
---@type table<string, integer>
local MOST_OF = { denied = 1024 * 1024 }

---Mode of the folder: 0700.
local OWNER_ONLY = 448

---@alias claude-ide.terminal.Signal fun(number: integer, done: fun(): boolean, line: string): boolean? `done` ends an `ask`: false if it was given up; true if it will be called

---@type string?
local folder
---@type table<string, string> current ones, by file
local texts = {}
---@type table<integer, string[]> what calls name the file of a note by
local named = {}
---@type table<string, claude-ide.terminal.Signal[]>
local handlers = {}
---@type table<string, true> signals whose handler is not done
local open = {}

---@return string
local function path_of(name)
  return ("%s/%s"):format(folder, name)
end

local function write(name, bytes)
  file.replace(path_of(name), bytes)
end

local function remove(name)
  vim.uv.fs_unlink(path_of(name))
end

---The list of files, as the CLI names them in JSON.
local function write_files()
  if not next(named) then
    return remove("files")
  end
  local lines = {}
  for number, paths in pairs(named) do
    for _, path in ipairs(paths) do
      lines[#lines + 1] = ('%d "file_path":"%s"\n'):format(number, (path:gsub('[\\"]', "\\%0")))
    end
  end
  write("files", table.concat(lines))
end

---@param name string
local function on_signal(name)
  local kind, number = name:match("^(%l+)%.(%d+)$")
  if open[name] or not handlers[kind] then
    return
  end
  local text = file.read_now(path_of(name), MOST_OF[kind] or MOST_BYTES)
  if not text or (kind == "state" and not text:find("\n")) then
    return -- it is gone, or not written yet
  end
  open[name] = true
  local function done()
    open[name] = nil
    return vim.uv.fs_unlink(path_of(name)) ~= nil
  end
  local is_later = false
  for _, handler in ipairs(handlers[kind]) do
    is_later = handler(tonumber(number) --[[@as integer]], done, text) == true or is_later
  end
  if not is_later then
    done()
  end
end

---Starts a folder, for the first CLI.
---@return string? folder nil: it cannot be made
local function start()
  local path = vim.fn.tempname()
  if folder or not vim.uv.fs_mkdir(path, OWNER_ONLY) then
    return folder
  end
  folder = path
  local watcher = assert(vim.uv.new_fs_event())
  local handle = vim.schedule_wrap(safely.wrap("handle a hook", on_signal))
  watcher:start(path, {}, function(_, name)
    if name and name:find("^%l+%.%d+$") then
      handle(name)
    end
  end)
  bus.emit("hooks_given")
  return folder
end

---The command of a hook, also of one that the CLI gets by other means than these.
---@param body string see `claude-ide.terminal.FolderHook`
---@return string? command nil: the folder cannot be made
function M.command(body)
  local path = start()
  local quoted = path and "'" .. path:gsub("'", "'\\''") .. "'"
  return quoted and COMMAND:format(vim.uv.os_getpid(), quoted, body)
end

---The hooks of a CLI.
---@param is_chat boolean
---@return table<string, table[]> by event
function M.hooks(is_chat)
  local context, hooks = ide_config.get().context, {}
  for _, hook in ipairs(HOOKS) do
    local command = not (is_chat and hook.of_terminal) and hook.wanted(context) and M.command(hook.body)
    if command then
      hooks[hook.event] = hooks[hook.event] or {}
      table.insert(hooks[hook.event], {
        matcher = hook.matcher and hook.matcher(),
        hooks = { { type = "command", command = command, timeout = TIMEOUT_S, async = hook.in_background } },
      })
    end
  end
  return hooks
end

---Whether a CLI has these hooks.
---@return boolean
function M.is_used()
  return folder ~= nil
end

---Cuts a text for Claude to its limit, between lines.
---@param text string
---@return string
function M.bounded(text)
  text = position.valid(text)
  if #text <= MOST_BYTES then
    return text
  end
  local cut = text:sub(1, MOST_BYTES - LEFT_OUT_BYTES):match("^(.*\n)") or ""
  local _, left = text:sub(#cut + 1):gsub("[^\n]+", "")
  return ("%s(%d more lines)\n"):format(cut, left)
end

---Sets the context that a hook prints.
---@param name string the file
---@param event string of the hook
---@param text? string bounded; nil: nothing
---@param said? string for the user, in the terminal
function M.put(name, event, text, said)
  if not folder or texts[name] == text then
    return
  end
  texts[name] = text
  if not text then
    return remove(name)
  end
  local output = { hookEventName = event, additionalContext = text }
  write(name, vim.json.encode({ hookSpecificOutput = output, systemMessage = said }))
end

---What Claude is told after its next calls, by source.
---@type table<integer, table<string, { text: string, said?: string }>> by process
local after_calls = {}

---Sets what one source tells Claude after its next calls: before its next request to the model.
---@param pid integer of the CLI
---@param source string
---@param text? string nil: nothing
---@param said? string for the user, in the terminal
function M.after_calls(pid, source, text, said)
  after_calls[pid] = after_calls[pid] or {}
  after_calls[pid][source] = text and { text = text, said = said } or nil
  local contexts, words = {}, {} ---@type string[], string[]
  for _, one in vim.spairs(after_calls[pid]) do
    contexts[#contexts + 1], words[#words + 1] = one.text, one.said
  end
  local context = #contexts > 0 and M.bounded(table.concat(contexts, "\n")) or nil
  M.put("saved." .. pid, "PostToolBatch", context, #words > 0 and table.concat(words, "\n") or nil)
end

---What Claude is told about a buffer's file when it reads or changes it.
---@param buf integer
---@param text? string nil: nothing
function M.note(buf, text)
  M.put("note." .. buf, "PreToolUse", text)
  local path = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_name(buf) or ""
  local before = named[buf] and named[buf][1]
  if not folder or before == (text and path) then
    return
  end
  local real = text and ide_path.real(path)
  named[buf] = real and (path == real and { path } or { path, real }) or nil
  write_files()
end

---Handles a signal of hooks: a file of that name and a number, of a buffer or a process.
---@param kind "save"|"turn"|"told"|"stop"|"state"|"denied"
---@param handler claude-ide.terminal.Signal
function M.on(kind, handler)
  handlers[kind] = handlers[kind] or {}
  table.insert(handlers[kind], handler)
end

---Tells a hook that what it asks for has begun, and may take long, or is over.
---@param name string
---@param is_on boolean
function M.begun(name, is_on)
  if folder and is_on then
    write(name, "")
  elseif folder then
    remove(name)
  end
end

---Whether hooks ask for a buffer to be saved.
---@param is_on boolean
function M.ask_to_save(is_on)
  if folder and is_on then
    write("save", "")
  elseif folder then
    remove("save")
  end
end

---The current texts, in the order of their names.
---@return string[]
function M.texts()
  local names = vim.tbl_keys(texts)
  table.sort(names)
  return vim.tbl_map(function(name)
    return texts[name]
  end, names)
end

return M
