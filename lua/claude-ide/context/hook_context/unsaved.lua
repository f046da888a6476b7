-- Unsaved text: what Claude is told when it reads or changes a file that has unsaved changes in a buffer, or the file is saved first.
-- The texts are kept up to date while the user types, so that a call need not wait for Neovim.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local notice = lazy("claude-ide.base.notice")
local patch_text = lazy("claude-ide.ui.diffview.patch_text")
local paths = lazy("claude-ide.base.path")
local privacy = lazy("claude-ide.server.privacy")
local server = lazy("claude-ide.server")

local M = {}

local api = vim.api
local GROUP = "claude-ide.hook_context.unsaved"

---Pause after a change.
local PAUSE_MS = 100
---Lines around a change.
M.LINES_AROUND = 1

local WORDS = "The user has unsaved changes to %s in the editor. The file on disk, which your tools read and write, is without "
  .. "them%s"

---@type table<integer, true> buffers with a change since the last look
local changed = {}
---@type table<integer, true>
local followed = {}
local timer = timers.new("compare unsaved text")

---@param buf integer
---@return string? text nil: there is nothing to tell
local function text_of(buf)
  if not vim.bo[buf].modified or privacy.verdict(buf) ~= "tell" then
    return nil
  end
  local path = api.nvim_buf_get_name(buf)
  local diff = not path:find("%c") and patch_text.of_unsaved(buf, M.LINES_AROUND)
  if diff == "" then
    return nil
  end
  local words = WORDS:format(path, diff and ". From the file to the editor:\n" or ".")
  return hook_folder.bounded(words .. (diff or ""))
end

local function look()
  local wanted = config.get().context.unsaved ~= "off" and server.is_running()
  for buf in pairs(changed) do
    changed[buf] = nil
    local is_there = wanted and api.nvim_buf_is_loaded(buf) and buffer.is_file(buf)
    hook_folder.note(buf, is_there and text_of(buf) or nil)
  end
end

---Compares a buffer again, soon.
---@param buf integer
function M.touch(buf)
  if not next(changed) then
    timer:start(PAUSE_MS, look)
  end
  changed[buf] = true
end

---@param buf integer
local function follow(buf)
  if followed[buf] or not api.nvim_buf_is_loaded(buf) or not buffer.is_file(buf) then
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
  privacy.watch(buf)
  if vim.bo[buf].modified then
    M.touch(buf)
  end
end

---Writes a buffer. Formatters take their time: a file that has changed on disk meanwhile is left alone, where Neovim would ask whether to
---overwrite it.
---@param buf integer
---@return boolean ok
---@return string? err
local function write(buf)
  local path = paths.real(api.nvim_buf_get_name(buf))
  local function stamp()
    local stat = vim.uv.fs_stat(path)
    return stat and { stat.mtime.sec, stat.mtime.nsec, stat.size } or {}
  end
  local before, has_changed = stamp(), false
  local last = api.nvim_create_autocmd("BufWritePre", {
    buffer = buf,
    desc = "Claude Code: do not overwrite a file that changed while it was formatted",
    callback = function()
      if not vim.deep_equal(before, stamp()) then
        has_changed = true
        error("it has changed on disk meanwhile", 0)
      end
    end,
  })
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd("silent update")
  end)
  pcall(api.nvim_del_autocmd, last)
  err = tostring(err):match("E%d+: [^\n]*") or tostring(err)
  return ok and not has_changed, has_changed and "it has changed on disk meanwhile" or err
end

---Saves a buffer that Claude is about to read or change.
---@param buf integer
local function save(buf)
  local is_wanted = config.get().context.unsaved == "save" -- anyone may write in the folder
  if
    not is_wanted
    or not api.nvim_buf_is_loaded(buf)
    or not buffer.is_file(buf)
    or privacy.verdict(buf) ~= "tell"
  then
    return
  end
  local begun = "saving." .. buf
  hook_folder.begun(begun, true)
  local ok, err = write(buf)
  hook_folder.begun(begun, false)
  if not ok then
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":~:.")
    notice.warn(("%s is not saved for Claude: %s"):format(name, err))
  end
  changed[buf] = true
  look()
end

local function begin()
  hook_folder.ask_to_save(config.get().context.unsaved == "save")
  hook_folder.on("save", save)
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
    desc = "Claude Code: note that changes were saved or the file has changed",
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
M.attach = require("claude-ide.base.once")(function()
  bus.on("hooks_given", begin)
  bus.on("privacy_changed", function(buf)
    if followed[buf] then
      M.touch(buf)
    end
  end)
  for _, topic in ipairs({ "server_started", "server_stopped" }) do
    bus.on(topic, function()
      for buf in pairs(followed) do
        M.touch(buf)
      end
    end)
  end
  if hook_folder.is_used() then
    begin()
  end
end)

return M
