-- A folder of texts for the CLIs that we start: their command hooks print what concerns a call, without an answer of this Neovim.
-- Invariant: a CLI whose Neovim is gone, stopped or busy works as without hooks. So no hook here is a tool of the server (`mcp_tool`):
-- if the server is not connected, CLI 2.1.329 prints an error for each such hook, except PermissionRequest, Elicitation and
-- MessageDisplay. A command that exits with 0 is silent, and so is one that runs out of time, except for UserPromptSubmit.
local M = {}

---The command of a hook. It is a CLI's for life and the folder has only data: commands of the model may be able to write there.
---`files` has lines of a buffer's number and what a call names its file by. If `save` is there, Neovim is asked to save the buffer first;
---then its note is gone. The subshell: where a file is missing, a shell may end with a code that stops Claude.
local COMMAND = [[
(cd %s && kill -0 %d && [ -r files ] || exit
input=$(cat) note=
while read -r number name; do
  case $input in *"$name"*) note=note.${number%%%%[!0-9]*}; break;; esac
done <files
[ -e "$note" ] || exit
if [ -e save ]; then
  : >"save.${note#note.}"
  tries=0
  while [ -e "$note" ] && [ $tries -lt 40 ]; do sleep 0.05; tries=$((tries + 1)); done
fi
cat "$note") 2>/dev/null
exit 0]]

---Limit of a text for Claude.
M.MOST_BYTES = 2048

---@type string?
local folder
---@type table<integer, { paths: string[], text: string }> by buffer
local notes = {}
---@type (fun(buf: integer))?
local save

local function write(name, text)
  local temporary = ("%s/new"):format(folder)
  if require("claude-ide.file").write_private(temporary, text, false) then
    vim.uv.fs_rename(temporary, ("%s/%s"):format(folder, name))
  end
end

local function remove(name)
  vim.uv.fs_unlink(("%s/%s"):format(folder, name))
end

---The list of files, as the CLI names them in JSON.
local function write_files()
  if not next(notes) then
    return remove("files")
  end
  local lines = {}
  for buf, note in pairs(notes) do
    for _, path in ipairs(note.paths) do
      lines[#lines + 1] = ('%d "file_path":"%s"\n'):format(buf, (path:gsub('[\\"]', "\\%0")))
    end
  end
  write("files", table.concat(lines))
end

---A hook reports by an empty file that it waits for a buffer to be saved.
---@param name? string
local function on_file(_, name)
  local buf = tonumber((name or ""):match("^save%.(%d+)$")) --[[@as integer?]]
  if buf and save then
    vim.schedule(function()
      if save and notes[buf] and vim.uv.fs_unlink(("%s/%s"):format(folder, name)) then
        save(buf)
      end
    end)
  end
end

---Starts a folder, for the first CLI.
---@return string? folder nil: it cannot be made
local function start()
  local path = vim.fn.tempname()
  if folder or vim.fn.mkdir(path, "", "0o700") == 0 then
    return folder
  end
  folder = path
  local watcher = assert(vim.uv.new_fs_event())
  watcher:start(path, {}, on_file)
  require("claude-ide.bus").emit("hooks_given")
  return folder
end

---The hooks of a CLI.
---@return table<string, table>
function M.hooks()
  local context = require("claude-ide.config").get().context
  if context.unsaved == "off" or not start() then
    return {}
  end
  local path = folder --[[@as string]]
  local quoted = "'" .. path:gsub("'", "'\\''") .. "'"
  local hook = { type = "command", command = COMMAND:format(quoted, vim.uv.os_getpid()), timeout = 5 }
  local tools = { "Read", unpack(require("claude-ide.native").writing_tools() or {}) }
  return { PreToolUse = { matcher = table.concat(tools, "|"), hooks = { hook } } }
end

---Whether a CLI has these hooks.
---@return boolean
function M.is_used()
  return folder ~= nil
end

---What Claude is told about a buffer's file when it reads or changes it.
---@param buf integer
---@param text? string nil: nothing
function M.note(buf, text)
  if not folder or (notes[buf] or {}).text == text then
    return
  end
  if not text then
    notes[buf] = nil
    write_files()
    return remove("note." .. buf)
  end
  local path = vim.api.nvim_buf_get_name(buf)
  local real = require("claude-ide.path").real(path)
  local output = { hookEventName = "PreToolUse", additionalContext = text }
  write("note." .. buf, vim.json.encode({ hookSpecificOutput = output }))
  notes[buf] = { paths = path == real and { path } or { path, real }, text = text }
  write_files()
end

---@return string[] texts the current notes, in the order of the buffers
function M.notes()
  local bufs = vim.tbl_keys(notes)
  table.sort(bufs)
  return vim.tbl_map(function(buf)
    return notes[buf].text
  end, bufs)
end

---Sets what saves a buffer before Claude reads or changes its file; nil: nothing does.
---@param fn? fun(buf: integer)
function M.save_with(fn)
  save = fn
  if folder and fn then
    write("save", "")
  elseif folder then
    remove("save")
  end
end

return M
