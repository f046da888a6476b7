-- `$EDITOR` of our terminals: a prompt, a plan or a commit message opens in this Neovim, in a split. The program that opened it waits
-- until the buffer is gone.
local M = {}

---Writes the file's name and a FIFO into a folder, and waits for a line in the FIFO. Its last argument is the file.
---Placeholders: this Neovim, its address.
local SCRIPT = [[
#!/bin/sh
for file do :; done
case $file in /*) ;; *) file=$PWD/$file ;; esac
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
printf %%s "$file" >"$folder/file"
mkfifo -m 600 "$folder/closed" || exit 1
exec 3<>"$folder/closed"
%s --server %s --remote-expr "v:lua.require'claude-ide.terminal.editor'.open('$folder', '${CLAUDECODE:+tool}')" >/dev/null </dev/null || exit 1
read -r _ <&3
]]

local script ---@type string?

---@type table<integer, string> the FIFO of each program that waits, by buffer
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
  if not require("claude-ide.config").get().terminal.editor or package.loaded.flatten then
    return {}
  end
  local path = write_script()
  return { EDITOR = path, VISUAL = path }
end

---@param buf integer
local function release(buf)
  local fifo = waiting[buf]
  waiting[buf] = nil
  local fd = fifo and vim.uv.fs_open(fifo, "a", 0)
  if fd then
    vim.uv.fs_write(fd, "\n")
    vim.uv.fs_close(fd)
  end
end

---@param file string
---@param fifo string
local function show(file, fifo)
  local win, typed = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode == "t"
  vim.cmd(("aboveleft split %s"):format(vim.fn.fnameescape(file)))
  local buf = vim.api.nvim_get_current_buf()
  waiting[buf] = fifo
  vim.bo[buf].bufhidden = "wipe" -- so `:q` does not hide unsaved text
  vim.b[buf].claude_private = true
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    desc = "Claude Code: a prompt's file is closed",
    callback = function()
      release(buf)
      vim.schedule(function()
        if typed and vim.api.nvim_get_current_win() == win then
          vim.cmd.startinsert()
        end
      end)
    end,
  })
end

---Opens a file. Called by the script.
---@param folder string of the script
---@param caller ""|"tool" tool: a command of the model's, so the user may be typing
function M.open(folder, caller)
  require("claude-ide.at_exit")("terminal.editor", function()
    vim.tbl_map(release, vim.tbl_keys(waiting))
  end)
  local file, fifo = assert(require("claude-ide.file").read_now(folder .. "/file", 4096)), folder .. "/closed"
  local function shown()
    show(file, fifo)
  end
  if caller == "tool" then
    require("claude-ide.ui.guard").when_still("editor " .. folder, shown)
  else
    vim.schedule(shown)
  end
  return ""
end

return M
