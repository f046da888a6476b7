-- Unsaved text: what Claude is told when it reads or changes a file that has unsaved changes in a buffer, or the file is saved first.
-- The texts are kept up to date while the user types, so that a call need not wait for Neovim.
local M = {}

local api = vim.api
local GROUP = "claude-ide.context.unsaved"

---Pause after a change.
local PAUSE_MS = 100
---Larger texts are not compared.
local MOST_COMPARED = 1024 * 1024

local WORDS = "The user has unsaved changes to %s in the editor. The file on disk, which your tools read and write, is without "
  .. "them%s"

---@type table<integer, true> buffers with a change since the last look
local changed = {}
---@type table<integer, true>
local followed = {}
local timer ---@type uv.uv_timer_t?

---@param buf integer
---@return string? diff nil: the texts are too large
local function diff_of(buf, path)
  local format = require("claude-ide.buffer.format").of(buf)
  local size = api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf))
  local bytes, why_not = require("claude-ide.file").read_now(path, MOST_COMPARED)
  if size > MOST_COMPARED or not bytes and why_not ~= "missing" then
    return nil
  end
  local of_bytes = require("claude-ide.buffer.bytes")
  local disk, disk_format = of_bytes.decode(bytes or "")
  local function text(lines, of)
    return of.empty and "" or table.concat(lines, "\n") .. "\n"
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  return require("claude-ide.hunk").xdiff(
    text(disk, disk_format),
    text(lines, format),
    { result_type = "unified", ctxlen = 1 }
  ) --[[@as string]]
end

---@param text string
---@param most integer
---@return string
local function bounded(text, most)
  if #text <= most then
    return text
  end
  local cut = text:sub(1, most):match("^(.*\n)") or ""
  local _, left = text:sub(#cut + 1):gsub("\n", "")
  return ("%s(%d more lines)\n"):format(cut, left)
end

---@param buf integer
---@return string? text nil: there is nothing to tell
local function text_of(buf)
  if not vim.bo[buf].modified or require("claude-ide.privacy").verdict(buf) ~= "tell" then
    return nil
  end
  local path = api.nvim_buf_get_name(buf)
  local diff = not path:find("%c") and diff_of(buf, path)
  if diff == "" then
    return nil
  end
  local words = WORDS:format(path, diff and ". From the file to the editor:\n" or ".")
  local most = require("claude-ide.terminal.hook_folder").MOST_BYTES
  local valid = require("claude-ide.position").valid(words .. (diff or ""))
  return bounded(valid, most - 32)
end

local function look()
  local folder = require("claude-ide.terminal.hook_folder")
  local wanted = require("claude-ide.config").get().context.unsaved ~= "off"
    and require("claude-ide.server").is_running()
  for buf in pairs(changed) do
    changed[buf] = nil
    local is_there = wanted and api.nvim_buf_is_loaded(buf) and require("claude-ide.buffer").is_file(buf)
    folder.note(buf, is_there and text_of(buf) or nil)
  end
end

---Compares a buffer again, soon.
---@param buf integer
function M.touch(buf)
  if not next(changed) then
    timer = timer or assert(vim.uv.new_timer())
    timer:start(
      PAUSE_MS,
      0,
      vim.schedule_wrap(require("claude-ide.safely").wrap("compare unsaved text", look))
    )
  end
  changed[buf] = true
end

---@param buf integer
local function follow(buf)
  if followed[buf] or not api.nvim_buf_is_loaded(buf) or not require("claude-ide.buffer").is_file(buf) then
    return
  end
  followed[buf] = api.nvim_buf_attach(buf, false, {
    on_lines = function()
      M.touch(buf)
    end,
    on_reload = function()
      M.touch(buf)
    end,
    on_detach = function()
      followed[buf] = nil
      M.touch(buf)
    end,
  }) or nil
  -- A buffer may become private at any time.
  api.nvim_buf_call(buf, function()
    vim.cmd(
      ("silent! call dictwatcheradd(b:, 'claude_private', {-> %s})"):format(
        ("v:lua.require'claude-ide.context.unsaved'.touch(%d)"):format(buf)
      )
    )
  end)
  if vim.bo[buf].modified then
    M.touch(buf)
  end
end

---Saves a buffer that Claude is about to read or change.
---@param buf integer
local function save(buf)
  if api.nvim_buf_is_loaded(buf) and require("claude-ide.privacy").verdict(buf) == "tell" then
    local ok, err = pcall(api.nvim_buf_call, buf, function()
      vim.cmd("silent update")
    end)
    if not ok then
      require("claude-ide.log").info("buffer %d is not saved for Claude: %s", buf, err)
    end
  end
  changed[buf] = true
  look()
end

local function begin()
  local wanted = require("claude-ide.config").get().context.unsaved
  require("claude-ide.terminal.hook_folder").save_with(wanted == "save" and save or nil)
  local group = api.nvim_create_augroup(GROUP, { clear = true })
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost" }, {
    group = group,
    desc = "Claude Code: follow unsaved changes",
    callback = function(event)
      follow(event.buf)
    end,
  })
  api.nvim_create_autocmd({ "BufWritePost", "BufModifiedSet", "FileChangedShellPost" }, {
    group = group,
    desc = "Claude Code: changes are saved, or the file has changed",
    callback = function(event)
      follow(event.buf)
      M.touch(event.buf)
    end,
  })
  for _, buf in ipairs(api.nvim_list_bufs()) do
    follow(buf)
  end
end

---Follows unsaved changes once a CLI has hooks.
M.attach = require("claude-ide.once")(function()
  require("claude-ide.bus").on("hooks_given", begin)
  for _, topic in ipairs({ "server_started", "server_stopped" }) do
    require("claude-ide.bus").on(topic, function()
      for buf in pairs(followed) do
        M.touch(buf)
      end
    end)
  end
  if require("claude-ide.terminal.hook_folder").is_used() then
    begin()
  end
end)

return M
