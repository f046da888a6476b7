-- Buffers follow the disk: an unmodified buffer shows Claude's change a moment later, wherever the CLI runs.
-- Invariants: a modified buffer is never overwritten, and no prompt interrupts typing: the user is notified once and decides later
-- (`edits/watch/conflict.lua`).
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local config = lazy("claude-ide.config")
local conflict = lazy("claude-ide.edits.watch.conflict")
local disk = lazy("claude-ide.editor.buffer.disk")
local files = lazy("claude-ide.edits.watch.files")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local path = lazy("claude-ide.base.path")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local waits = lazy("claude-ide.base.waits")

local M = {}

local GROUP = "claude-ide.watch"

---A writer that truncates a file first needs a moment for the rest; a file that stays empty is taken as empty.
local EMPTY_GRACE_MS = 60

---@class claude-ide.watch.Followed
---@field name string
---@field real string with links resolved
---@field stop fun()[]

---@type table<integer, claude-ide.watch.Followed>
local followed = {}

local function unfollow(buf)
  local entry = followed[buf]
  if entry then
    followed[buf] = nil
    for _, stop in ipairs(entry.stop) do
      stop()
    end
  end
end

---The state of files when Neovim began to read them, by buffer.
---@type table<integer, string>
local read_as = {}

local changed ---@type fun(buf: integer)
local follow ---@type fun(buf: integer)

local function reload(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or not followed[buf] then
    return
  elseif waits.is_command_pending() then
    waits.when_text_may_change("watch " .. buf, function()
      changed(buf)
    end)
  elseif vim.bo[buf].modified then
    conflict.consider(buf)
  else
    disk.reload_all({ buf }, function() end)
  end
end

---Handles a possible change of a loaded buffer's file.
---@param buf integer
function changed(buf)
  vim.uv.fs_stat(
    followed[buf] and followed[buf].name or "",
    vim.schedule_wrap(function(_, stat)
      if stat and followed[buf] then
        follow(buf) -- it may have become a link
      end
      if not stat then
        return -- deleted, perhaps for a moment; the buffer keeps its text
      elseif stat.size == 0 then
        vim.defer_fn(function()
          if vim.api.nvim_buf_is_valid(buf) then
            reload(buf)
          end
        end, EMPTY_GRACE_MS)
      elseif vim.api.nvim_buf_is_valid(buf) then
        reload(buf)
      end
    end)
  )
end

---Follows a buffer's file, under its name and where a link leads.
---@param buf integer
function follow(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or not buffer.is_file(buf) then
    return unfollow(buf)
  end
  local name = vim.api.nvim_buf_get_name(buf)
  local real = path.real(name)
  if followed[buf] and followed[buf].name == name and followed[buf].real == real then
    return
  end
  unfollow(buf)
  local function on_change()
    changed(buf)
  end
  local stop = { files.follow(name, on_change) } ---@type fun()[]
  if real ~= name then
    table.insert(stop, files.follow(real, on_change))
  end
  followed[buf] = { name = name, real = real, stop = stop }
end

---Checks every loaded file, as when Neovim regains focus.
function M.check_all()
  local unmodified = {}
  for buf in pairs(followed) do
    if vim.bo[buf].modified then
      reload(buf)
    else
      unmodified[#unmodified + 1] = buf
    end
  end
  disk.reload_all(unmodified, function() end)
end

local function answer_for_neovim(group)
  -- Neovim checks the disk too (on focus, after `:!`), and would show a blocking prompt for a modified buffer.
  vim.api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    desc = "Claude: handle changes on disk without a prompt",
    callback = function(event)
      if not followed[event.buf] then
        if not stamp.others_listen("FileChangedShell", event.buf) then
          vim.v.fcs_choice = "ask" -- Neovim's default
        end
      elseif vim.v.fcs_reason == "deleted" then
        notice.warn(one_line.of_file(event.match, {
          "%s is no longer on disk. `:w` writes it again.",
          "No longer on disk: %s",
        }))
      else
        stamp.note_report(event.buf)
        changed(event.buf)
      end
    end,
  })
end

---Starts to follow the files of all buffers.
function M.attach()
  if not config.get().watch.enabled then
    return
  end
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("BufReadPre", {
    group = group,
    desc = "Claude: note a file that is written while it is read",
    callback = function(event)
      read_as[event.buf] = stamp.key_now(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost" }, {
    group = group,
    desc = "Claude: follow the files of loaded buffers",
    callback = function(event)
      follow(event.buf)
      local before = read_as[event.buf]
      read_as[event.buf] = nil
      -- Autocommands after reading may take a while, and the file was not followed yet.
      if before and followed[event.buf] and before ~= stamp.key_now(event.buf) then
        changed(event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    desc = "Claude: stop following files of unloaded buffers",
    callback = function(event)
      read_as[event.buf] = nil
      unfollow(event.buf)
      conflict.forget(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufModifiedSet", {
    group = group,
    desc = "Claude: keep a file's text before the user's changes",
    callback = function(event)
      if followed[event.buf] then
        conflict.modified_set(event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "FocusGained", "VimResume" }, {
    group = group,
    desc = "Claude: look at the disk after an absence",
    callback = M.check_all,
  })
  answer_for_neovim(group)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    follow(buf)
  end
end

---Stops following.
function M.detach()
  vim.api.nvim_create_augroup(GROUP, { clear = true })
  for buf in pairs(vim.tbl_extend("force", {}, followed)) do
    unfollow(buf)
  end
end

return M
