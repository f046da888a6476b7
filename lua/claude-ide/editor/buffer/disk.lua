-- Reloads buffers whose file has changed on disk, in small steps and without a prompt.
-- Invariants: a modified buffer is not touched; Neovim learns that the change was handled (no W11 or W12).
local file = require("claude-ide.base.file")
local lazy = require("claude-ide.lazy")
local anchor = lazy("claude-ide.editor.buffer.anchor")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local buffer_patch = lazy("claude-ide.editor.buffer.patch")
local log = lazy("claude-ide.base.log")
local lsp = lazy("claude-ide.base.lsp")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local option = lazy("claude-ide.base.option")
local slice = lazy("claude-ide.base.slice")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local waits = lazy("claude-ide.base.waits")

local M = {}

local PARALLEL_READS = 8

---Larger files use Neovim's own reload, which is faster but keeps less; comparing them would block the editor.
local MAX_BYTES = 4 * 1024 * 1024

---Rounds while the file keeps changing, before the reload is left for the next event.
local MAX_ROUNDS = 3

---The disk's state when a buffer last agreed with it, as `file.key` gives it.
---@type table<integer, string>
local agreed = {}

---Whether a buffer may be reloaded from disk.
---@param buf integer
---@return boolean
function M.may_reload(buf)
  return vim.api.nvim_buf_is_valid(buf)
    and vim.api.nvim_buf_is_loaded(buf)
    and not vim.bo[buf].modified
    and buffer.is_file(buf)
end

---The buffer properties that `format.decode` needs.
---@param buf integer
function M.decoding(buf)
  local bo = vim.bo[buf]
  local first = vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] or ""
  return {
    fileformat = bo.fileformat,
    binary = bo.binary,
    fileencoding = bo.fileencoding,
    fileformats = vim.o.fileformats,
    carriage = first:sub(-1) == "\r",
  }
end

---What a buffer has to hold for its file to have these bytes, in the encoding that it has.
---@param buf integer loaded
---@param bytes string
---@return string[]? lines nil: Neovim has to read the file itself
---@return claude-ide.buffer.Format? format
function M.decode(buf, bytes)
  local now, _, found = M.decoding(buf), buffer_bytes.text(bytes)
  if not buffer_format.is_utf8(now.fileencoding) then
    local is_detected = found ~= "latin1" and found ~= now.fileencoding and not buffer_bytes.is_ascii(bytes)
    if is_detected and not stamp.is_chosen(buf, "fileencoding") then
      return nil -- Neovim would read it in that encoding
    end
    local text = buffer_format.decoded(bytes, now.fileencoding)
    if not text then
      return nil
    end
    bytes, now.fileencoding = text, ""
  end
  return buffer_format.decode(bytes, now)
end

local OF_OPENING = "FileType,Syntax"

---@param buf integer
---@return fun() restore
local function keep_views(buf)
  local views = {} ---@type table<integer, table>
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return function()
    for win, view in pairs(views) do
      if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
        vim.api.nvim_win_call(win, function()
          if not vim.deep_equal(vim.fn.winsaveview(), view) then
            vim.fn.winrestview(view)
          end
        end)
      end
    end
  end
end

---Runs the autocommands of others; an error of one is theirs.
---@param buf integer
---@param event "BufReadPost"|"BufWritePost"|"FileChangedShellPost"
function M.emit(buf, event)
  local ok, err = pcall(vim.api.nvim_exec_autocmds, event, { buffer = buf, modeline = false })
  if not ok then
    log.warn("a %s autocommand failed: %s", event, tostring(err))
  end
end

---Emits BufReadPost, like Neovim's own reload: linters and similar plugins run on it. The event also stands for opening a file, so the
---cursor is kept in every window, and the filetype is not detected and set up again.
---@param buf integer loaded, unmodified
local function emit_read(buf)
  local restore, filetype = keep_views(buf), vim.bo[buf].filetype
  option.without_events(OF_OPENING, function()
    M.emit(buf, "BufReadPost")
    if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].filetype ~= filetype then
      vim.bo[buf].filetype = filetype -- what the user chose
    end
  end)
  restore()
end

---Puts text read from disk into the buffer, if it differs.
---@param buf integer
---@param bytes? string nil: too large to compare
---@param stat uv.fs_stat.result of the open file that was read
---@return boolean changed
---@return string? why_not
local function absorb(buf, bytes, stat)
  if not M.may_reload(buf) then
    return false, "modified"
  end
  local comparable = bytes and buffer_format.is_utf8(vim.bo[buf].fileencoding)
  local lacks_newline = not vim.bo[buf].endofline -- which `:write` would mend
  if
    comparable
    and (buffer.text(buf) == bytes or lacks_newline and buffer.text(buf, buffer_format.as_read(buf)) == bytes)
  then
    agreed[buf] = file.key(stat)
    return false
  end
  local lines, format
  if bytes then
    lines, format = buffer_format.decode(bytes, M.decoding(buf))
  end
  if lines and format and stamp.is_chosen(buf, "fileformat") and format.eol ~= buffer_format.of(buf).eol then
    lines = nil -- Neovim keeps what the user chose
  end
  local patch = lines ~= nil and not stamp.others_listen("BufWriteCmd", buf)
  local function in_the_way()
    -- Neovim's own reload loses a selection.
    local selected = not patch and anchor.get(buf) ~= nil
    return selected or waits.is_command_pending()
  end
  if in_the_way() then
    waits.when_text_may_change("reload " .. buf, function()
      M.reload_all({ buf }, function() end)
    end, in_the_way)
    return false, "the user is in the middle of something"
  end
  local listened = stamp.others_listen("FileChangedShell", buf)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  if listened or not patch then
    local _, verdict = stamp.settle(buf, patch and "keep" or "reload")
    if not M.may_reload(buf) then
      return false, "gone"
    elseif verdict and verdict ~= "reload" and verdict ~= "edit" then
      agreed[buf] = file.key(stat)
      if verdict == "ask" then
        notice.warn(
          one_line.of_file(
            vim.api.nvim_buf_get_name(buf),
            { "%s changed on disk. `:e` loads it.", "Changed on disk: %s" }
          )
        )
      end
      return false, "left to FileChangedShell"
    elseif not patch then
      agreed[buf] = file.key(stat)
      return vim.api.nvim_buf_get_changedtick(buf) ~= tick
    end
  end
  buffer_patch.set_text(buf, lines --[[@as string[] ]], format --[[@as claude-ide.buffer.Format]])
  stamp.agree(buf)
  agreed[buf] = file.key(stat)
  lsp.saved(buf)
  emit_read(buf)
  M.emit(buf, "FileChangedShellPost")
  return true
end

---Reloads one buffer now, if it is unmodified and its file differs.
---@param buf integer
---@return boolean changed
---@return string? why_not
function M.reload(buf)
  local changed = false
  -- Repeated if the file is written during the reload: Neovim then already has the new time stamp.
  for _ = 1, MAX_ROUNDS do
    if not M.may_reload(buf) then
      return changed, "modified"
    end
    local path = vim.api.nvim_buf_get_name(buf)
    local stat = vim.uv.fs_stat(path)
    if not stat or stat.type ~= "file" then
      return changed, "no file"
    elseif agreed[buf] == file.key(stat) then
      return changed
    end
    local bytes, unread, read_stat, err = file.read_now(path, MAX_BYTES)
    if not read_stat or (unread and unread ~= "large") then
      return changed, err or unread
    end
    local ok, did, why_not = pcall(absorb, buf, bytes, read_stat)
    if not ok then
      did, why_not = false, tostring(did)
    end
    if why_not then
      return changed, why_not
    end
    changed = changed or did
  end
  return changed
end

---Records that buffer and disk agree, as after a write of ours.
---@param buf integer
function M.note_agreement(buf)
  agreed[buf] = stamp.key_now(buf)
end

---@class claude-ide.buffer.Read
---@field buf integer
---@field path string
---@field bytes? string nil: too large to compare
---@field stat uv.fs_stat.result

---Puts the text read into the buffer. If the file was written since (perhaps from this buffer), it is read again; if it was deleted, the
---buffer stays as it is.
---@param result claude-ide.buffer.Read
---@return boolean changed
local function take_over(result)
  local stat = vim.uv.fs_stat(result.path)
  if not stat then
    return false
  elseif file.key(stat) ~= file.key(result.stat) then
    return (M.reload(result.buf))
  end
  return (absorb(result.buf, result.bytes, result.stat))
end

---Reloads the given buffers whose files differ. Reads in the background and changes buffers in small steps, so that two hundred of them
---on a slow disk do not block the editor.
---@param bufs integer[]
---@param done fun(changed: integer[]) called on the main loop, once
function M.reload_all(bufs, done)
  local waiting = {} ---@type { buf: integer, path: string, key: string? }[]
  local changed = {} ---@type integer[]
  local open, next_job = 0, 1
  for _, buf in ipairs(bufs) do
    if M.may_reload(buf) then
      waiting[#waiting + 1] = { buf = buf, path = vim.api.nvim_buf_get_name(buf), key = agreed[buf] }
    end
  end
  for buf in pairs(agreed) do
    if not vim.api.nvim_buf_is_valid(buf) then
      agreed[buf] = nil
    end
  end
  local results = {} ---@type claude-ide.buffer.Read[]
  local absorbing = false
  local start ---@type fun()
  local function step()
    local is_over = slice.begin()
    while #results > 0 do
      local result = table.remove(results)
      local ok, did = pcall(take_over, result)
      if not ok then
        log.warn("reload of buffer %d failed: %s", result.buf, tostring(did))
      elseif did then
        changed[#changed + 1] = result.buf
        M.reload(result.buf) -- only a stat, unless the file was written again
      end
      open = open - 1
      if is_over() then
        break
      end
    end
    if #results > 0 then
      return slice.later(step)
    end
    absorbing = false
    start()
  end
  local function finished(result)
    if result then
      results[#results + 1] = result
    else
      open = open - 1
    end
    if not absorbing then
      absorbing = true
      vim.schedule(step)
    end
  end
  function start()
    while open < PARALLEL_READS and next_job <= #waiting do
      local job = waiting[next_job]
      next_job, open = next_job + 1, open + 1
      vim.uv.fs_stat(job.path, function(_, stat)
        if not stat or stat.type ~= "file" or file.key(stat) == job.key then
          return finished(nil)
        end
        file.read_in_fast_event(job.path, MAX_BYTES, function(bytes, why_not, read_stat)
          local is_known = bytes or why_not == "large"
          finished(is_known and { buf = job.buf, path = job.path, bytes = bytes, stat = read_stat } or nil)
        end)
      end)
    end
    if open == 0 and next_job > #waiting then
      local callback = done
      done = function() end
      callback(changed)
    end
  end
  start()
end

return M
