-- `$EDITOR` of our terminals: a prompt, a plan or a commit message opens in this Neovim, in a split. The program that opened it waits
-- until the buffer is gone.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local buffer = lazy("claude-ide.editor.buffer")
local config = lazy("claude-ide.config")
local files = lazy("claude-ide.base.file")
local guard = lazy("claude-ide.ui.guard")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local safely = lazy("claude-ide.base.safely")
local waits = lazy("claude-ide.base.waits")
local window = lazy("claude-ide.base.window")

local M = {}

---Writes the file's name, its own process and a FIFO into a folder, and waits for a line in the FIFO. Its last argument is the file.
---Placeholders: this Neovim, its address.
local SCRIPT = [[
#!/bin/sh
for file do :; done
case $file in /*) ;; *) file=$PWD/$file ;; esac
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
printf %%s "$file" >"$folder/file"
echo $$ >"$folder/process"
mkfifo -m 600 "$folder/closed" || exit 1
exec 3<>"$folder/closed"
quoted=$(printf %%s "$folder" | sed "s/'/''/g")
%s --server %s --remote-expr "v:lua.require'claude-ide.terminal.editor'.open('$quoted', '${CLAUDECODE:+tool}')" >/dev/null </dev/null || exit 1
read -r _ <&3
]]

local script ---@type string?

---@class claude-ide.terminal.editor.Open
---@field buf integer
---@field pid? integer of the program that waits

---@type table<string, claude-ide.terminal.editor.Open> by the FIFO of the program that waits
local waiting = {}

---@return string path
local function write_script()
  if not script or not vim.uv.fs_stat(script) then
    script = vim.fn.tempname()
    local quoted = vim.tbl_map(vim.fn.shellescape, { vim.v.progpath, vim.v.servername })
    vim.fn.writefile(vim.split(SCRIPT:format(unpack(quoted)), "\n", { trimempty = true }), script)
    vim.uv.fs_chmod(script, 448) -- 0700
  end
  return script
end

---@return table<string, string> environment of a terminal
function M.environment()
  -- flatten.nvim does the same for all terminals.
  if not config.get().terminal.editor or package.loaded.flatten then
    return {}
  end
  local path = write_script()
  return { EDITOR = path, VISUAL = path }
end

---The program may have been killed: opening a FIFO that has no reader would block.
---@param fifo string
local function release(fifo)
  waiting[fifo] = nil
  local flags = vim.uv.constants
  local fd = vim.uv.fs_open(fifo, flags.O_WRONLY + flags.O_NONBLOCK, 0)
  if fd then
    vim.uv.fs_write(fd, "\n")
    vim.uv.fs_close(fd)
  end
end

---Opens a window of its own for a buffer; without room for one, a tab page.
---@param buf integer
local function open_window(buf)
  local before = vim.api.nvim_get_current_win()
  if not pcall(vim.api.nvim_exec2, "aboveleft split", {}) then
    local _, err = pcall(vim.api.nvim_exec2, "tab split", {}) -- in a tiny screen it opens one, and fails
    assert(vim.api.nvim_get_current_win() ~= before, err)
  end
  local win = vim.api.nvim_get_current_win()
  local ok, err = pcall(vim.api.nvim_win_set_buf, win, buf)
  if not ok and vim.api.nvim_win_get_buf(win) ~= buf then
    window.close(win)
    error(err, 0)
  elseif not ok then
    log.warn("an autocommand failed in a prompt's file: %s", err)
  end
end

---@param open claude-ide.terminal.editor.Open
---@param fifo string
local function show(open, fifo)
  local buf = open.buf
  local win, typed = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode == "t"
  local is_users = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].bufhidden ~= "wipe"
  waiting[fifo] = open
  open_window(buf)
  local function on(event, pattern)
    vim.api.nvim_create_autocmd(event, {
      pattern = pattern,
      buffer = not pattern and buf or nil,
      once = true,
      desc = "Claude Code: return a closed prompt to the CLI",
      callback = function()
        if not waiting[fifo] then
          return
        end
        release(fifo)
        vim.schedule(function()
          if typed and vim.api.nvim_get_current_win() == win then
            vim.cmd.startinsert()
          end
        end)
      end,
    })
  end
  on("BufWipeout")
  if is_users then
    on("WinClosed", tostring(vim.api.nvim_get_current_win())) -- the buffer stays with the user
  else
    vim.bo[buf].buflisted = true
    vim.bo[buf].bufhidden = "wipe" -- so `:q` does not hide unsaved text
    vim.b[buf].claude_private = true
  end
end

---Opens a file. Called by the script.
---@param folder string of the script
---@param caller ""|"tool" tool: a command of the model's, so the user may be typing
function M.open(folder, caller)
  at_exit("terminal.editor", function()
    vim.iter(vim.tbl_keys(waiting)):each(release)
  end)
  local read = files.read_now
  local file, fifo = assert(read(folder .. "/file", 4096)), folder .. "/closed"
  local buf = buffer.add(file)
  local pid = tonumber((read(folder .. "/process", 32))) --[[@as integer?]]
  local function shown()
    safely.catch(show, function(trace)
      release(fifo)
      log.error("a prompt's file does not open: %s", trace)
      notice.error(("%s cannot be opened here."):format(vim.fs.basename(file)))
    end)({ buf = buf, pid = pid }, fifo)
  end
  if caller == "tool" then
    guard.when_no_key("editor " .. folder, shown)
  else
    vim.schedule(function()
      waits.when_windows_may_change(shown)
    end)
  end
  return ""
end

---The files that are open for programs in a terminal.
---@param terminal claude-ide.terminal.Session
---@return integer[] buffers
function M.buffers_of(terminal)
  local found = {} ---@type integer[]
  for _, open in vim.spairs(waiting) do
    local is_one = terminal:has_process(open.pid) and vim.api.nvim_buf_is_valid(open.buf)
    found[#found + 1] = is_one and open.buf or nil
  end
  return found
end

return M
