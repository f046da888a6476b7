-- Tracks the time stamps that Neovim has of files behind buffers, and detects changes by other programs.
-- Invariant: no user prompt. Neovim's own prompts (W11, W12, "really write to it?") block the event loop, so their causes are detected
-- first.
local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local format = lazy("claude-ide.editor.buffer.format")
local ide_option = lazy("claude-ide.base.option")
local log = lazy("claude-ide.base.log")

local M = {}

---Each file's state when its buffer was last read or written; `CONFLICT` if it is known to have changed since.
---@type table<integer, string>
local seen = {}

local CONFLICT = "conflict"

---The state of a file in conflict that Neovim has reported: it reports each once.
---@type table<integer, string?>
local reported = {}

---Buffers whose file did not exist at first. If Neovim finds it later, it prompts (W13), without any autocommand before.
---@type table<integer, true>
local without_file = {}

---Formats that the user chose: of a reload, Neovim tells them apart from detected ones no more.
---@type table<integer, { fileencoding?: true, fileformat?: true }>
local chosen = {}

---Before Neovim reloads a buffer by itself, with the format that it has.
---@type table<integer, { fileencoding?: true, fileformat?: true }?>
local chosen_before = {}

---How often each buffer was written when that was noted last, and its changedtick then. Writes without autocommands come on top until
---`take_silent_writes` notes them.
---@type table<integer, { writes: integer, tick: integer }?>
local counted = {}

---The number as the last write with autocommands began, with those silent ones, and the changedtick of a buffer without changes. `counted`
---cannot say whether that write has failed.
---@type table<integer, { writes: integer, tick?: integer }?>
local before_write = {}

---Larger files are not compared.
local MAX_BYTES = 4 * 1024 * 1024

---The current state of a buffer's file.
---@param buf integer
---@return string? nil: no such file
function M.key_now(buf)
  return file.key_now(vim.api.nvim_buf_get_name(buf))
end

---Whether a BufReadPost or BufWritePost is of the buffer's own file: with `:w copy` it is of the copy.
---@param event { buf: integer, match: string }
---@return boolean
local function is_own_file(event)
  return event.match == vim.api.nvim_buf_get_name(event.buf)
end

---@param buf integer
---@return integer
local function writes_of(buf)
  return vim.fn.undotree(buf).save_last
end

---@param buf integer
local function count_writes(buf)
  counted[buf] = { writes = writes_of(buf), tick = vim.api.nvim_buf_get_changedtick(buf) }
end

---Whether a write has failed: Neovim emits BufWritePost then, too, as where the user declines to write over a changed file.
---@param event { buf: integer, event: string, match: string }
---@return boolean
function M.has_failed(event)
  return event.event == "BufWritePost"
    and is_own_file(event)
    and vim.bo[event.buf].modified
    and (before_write[event.buf] or {}).writes == writes_of(event.buf)
end

---Whether a write had nothing of the user's to write: the buffer was as it had been read or written.
---@param event { buf: integer, event: string, match: string } of a BufWritePost
---@return boolean
function M.had_no_changes(event)
  local before = before_write[event.buf]
  return is_own_file(event)
    and before ~= nil
    and before.tick == vim.api.nvim_buf_get_changedtick(event.buf)
    and event.event == "BufWritePost"
end

---Whether a BufReadPost or BufWritePost says that the buffer's own file was read or written.
---@param event { buf: integer, event: string, match: string }
---@return boolean
function M.is_done(event)
  return is_own_file(event) and not M.has_failed(event)
end

---Records that a buffer was just read or written.
---@param buf integer
---@param key? string the file's state; default: now
function M.note(buf, key)
  seen[buf], without_file[buf] = key or M.key_now(buf), nil
  count_writes(buf)
end

---Whether Neovim has written a buffer since that was noted last, and its file holds that text. Neovim counts its writes; it reads files
---without autocommands, too.
---@param buf integer
---@return string? key the file's state
local function silent_write(buf)
  local known = vim.api.nvim_buf_is_loaded(buf) and counted[buf]
  if not known or known.tick == vim.api.nvim_buf_get_changedtick(buf) or known.writes == writes_of(buf) then
    return nil
  end
  if vim.bo[buf].modified then
    return not M.is_conflict(buf) and M.key_now(buf) or nil
  end
  local bytes, _, stat = file.read_now(vim.api.nvim_buf_get_name(buf), MAX_BYTES)
  local text = format.encode(vim.api.nvim_buf_get_lines(buf, 0, -1, true), format.of(buf))
  return bytes and bytes == format.encoded(text, vim.bo[buf].fileencoding) and file.key(stat) or nil
end

---Takes note of what Neovim has written without autocommands (`:noautocmd write`), as formatters do after a `:write`.
---@return string[] paths
function M.take_silent_writes()
  local paths = {}
  for buf in pairs(vim.deepcopy(counted)) do
    local key = silent_write(buf)
    if key then
      M.note(buf, key)
      paths[#paths + 1] = vim.api.nvim_buf_get_name(buf)
    end
  end
  return paths
end

---Records Neovim's report that a file has changed, which comes only once.
---@param buf integer
function M.note_report(buf)
  local now = M.key_now(buf)
  if seen[buf] ~= now then -- else its mode alone has changed, or it was read again
    seen[buf], reported[buf] = CONFLICT, now
  end
end

---Records `++enc` and `++ff` of the command that reads a buffer.
---@param event { buf: integer, event: string }
local function note_format(event)
  local buf, args = event.buf, vim.v.cmdarg
  if event.event == "FileChangedShellPost" then
    M.note_report(buf)
    chosen[buf] = chosen_before[buf] -- the reload had arguments, but not the user's
    return
  end
  chosen_before[buf] = chosen[buf]
  chosen[buf] = {
    fileencoding = args:find("++enc=", 1, true) and true or nil,
    fileformat = args:find("++ff=", 1, true) and true or nil,
  }
end

---Whether the user chose a format that Neovim would not detect: a reload keeps it.
---@param buf integer
---@param option "fileencoding"|"fileformat"
---@return boolean
function M.is_chosen(buf, option)
  if chosen[buf] and chosen[buf][option] then
    return true
  elseif option == "fileformat" then
    return false
  end
  local encoding, detected = vim.bo[buf].fileencoding, ("," .. vim.o.fileencodings .. ","):lower()
  local is_detected = format.is_utf8(encoding)
    or encoding:find("^u[ct][sf]") -- by its byte order mark
    or detected:find("," .. encoding .. ",", 1, true)
    or detected:find(",default,", 1, true) and encoding == "latin1"
  return not is_detected
end

---Starts to track reads and writes of files, so that changes by other programs are detected in time.
function M.attach()
  local group = vim.api.nvim_create_augroup("claude-ide.buffer.stamp", { clear = true })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufWritePost" }, {
    group = group,
    desc = "Claude: note which files change on disk",
    callback = function(event)
      if vim.bo[event.buf].buftype == "" and M.is_done(event) then
        M.note(event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    desc = "Claude: note which writes fail or write nothing new",
    callback = function(event)
      local buf = event.buf
      local tick = not vim.bo[buf].modified and vim.api.nvim_buf_get_changedtick(buf) or nil
      before_write[buf] = { writes = writes_of(buf), tick = tick }
    end,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost" }, {
    group = group,
    desc = "Claude: note which encodings the user chose",
    callback = note_format,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufFilePost" }, {
    group = group,
    desc = "Claude: forget deleted buffers",
    callback = function(event)
      seen[event.buf], reported[event.buf] = nil, nil
      if event.event == "BufUnload" then
        chosen[event.buf], chosen_before[event.buf] = nil, nil
        counted[event.buf], before_write[event.buf] = nil, nil
      end
      without_file[event.buf] = event.event == "BufFilePost" and without_file[event.buf] or nil
    end,
  })
  vim.api.nvim_create_autocmd("BufNewFile", {
    group = group,
    desc = "Claude: note which buffers have no file yet",
    callback = function(event)
      without_file[event.buf] = vim.bo[event.buf].buftype == "" or nil
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local is_loaded = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    without_file[buf] = is_loaded and vim.api.nvim_buf_get_name(buf) ~= "" and not M.key_now(buf) or nil
    if is_loaded then
      count_writes(buf)
    end
  end
end

---Stops tracking.
function M.detach()
  vim.api.nvim_create_augroup("claude-ide.buffer.stamp", { clear = true })
  seen, reported, without_file, chosen, chosen_before = {}, {}, {}, {}, {}
  counted, before_write = {}, {}
end

---Whether another plugin's autocommand applies to a buffer.
---@param autocmd { group_name?: string, buflocal?: boolean, buffer?: integer, pattern?: string }
---@param buf integer
---@return boolean
local function is_for(autocmd, buf)
  if vim.startswith(autocmd.group_name or "", "claude-ide.") then
    return false
  elseif autocmd.buflocal then
    return autocmd.buffer == buf
  end
  local name, pattern = vim.api.nvim_buf_get_name(buf), autocmd.pattern or "*"
  local subject = pattern:find("/", 1, true) and name or vim.fs.basename(name)
  return vim.fn.match(subject, vim.fn.glob2regpat(pattern)) >= 0
end

---Whether another plugin handles such an event of a buffer.
---@param event "FileChangedShell"|"BufWriteCmd"
---@param buf integer
---@return boolean
function M.others_listen(event, buf)
  for _, autocmd in ipairs(vim.api.nvim_get_autocmds({ event = event })) do
    if
      is_for(autocmd --[[@as table]], buf)
    then
      return true
    end
  end
  return false
end

---Makes Neovim compare a file's time stamp with the disk, runs other plugins' FileChangedShell autocommands, and decides without a prompt.
---@param buf integer
---@param answer "reload"|"keep" reload: Neovim reads the file itself and detects the encoding and format, unless the user chose them
---@return string? reason v:fcs_reason; nil: Neovim found no change
---@return string? verdict v:fcs_choice of other plugins' FileChangedShell autocommands, if any
function M.settle(buf, answer)
  if without_file[buf] and M.key_now(buf) then
    if answer == "reload" then
      M.agree(buf)
      vim.api.nvim_buf_call(buf, function()
        vim.cmd("silent keepalt edit!")
      end)
    end
    return nil, nil
  end
  local others = M.others_listen("FileChangedShell", buf)
  local reason, verdict
  local group = vim.api.nvim_create_augroup("claude-ide.buffer.settle", { clear = true })
  vim.api.nvim_create_autocmd("FileChangedShell", {
    group = group,
    buffer = buf,
    desc = "Deal with a change on disk without a prompt",
    callback = function()
      reason = vim.v.fcs_reason
      M.note_report(buf)
      if others then
        verdict = vim.v.fcs_choice
      end
      local wanted = not others or verdict == "reload" or verdict == "edit"
      local is_chosen = M.is_chosen(buf, "fileencoding") or M.is_chosen(buf, "fileformat")
      vim.v.fcs_choice = (answer == "reload" and wanted) and (is_chosen and "reload" or "edit") or ""
    end,
  })
  local ignored = vim.o.eventignore
  vim.o.eventignore = ""
  -- 'autoread' would reload before the autocommands run; only the local value is changed, and restored.
  local autoread = vim.api.nvim_buf_call(buf, function()
    local value = vim.api.nvim_get_option_value("autoread", { scope = "local" })
    vim.cmd("noautocmd setlocal noautoread")
    return value
  end)
  local ok, err = pcall(vim.api.nvim_command, ("silent %dchecktime"):format(buf))
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_call(buf, function()
      -- `set autoread<` removes the local value; `setlocal autoread<` would copy the global one.
      vim.cmd(
        "noautocmd " .. (autoread == nil and "set autoread<" or autoread and "setlocal ar" or "setlocal noar")
      )
    end)
  end
  vim.o.eventignore = ignored
  vim.api.nvim_del_augroup_by_id(group)
  if not ok then
    log.warn("checktime of buffer %d failed: %s", buf, tostring(err))
  end
  return reason, verdict
end

---Whether another program changed the file since the buffer was read, so that `:write` would prompt.
---@param buf integer
---@return boolean
function M.is_conflict(buf)
  local now = M.key_now(buf)
  if not now then
    return false -- deleted: `:write` creates it again
  elseif seen[buf] == now then
    return false
  end
  local before = seen[buf]
  local is_made = not before and without_file[buf]
  -- Neovim knows nothing of a change that keeps the time stamp.
  if is_made or before and before:match("^%S+") == now:match("^%S+") then
    seen[buf] = CONFLICT
  elseif before ~= CONFLICT then
    -- Read before tracking began, or written without autocommands: Neovim knows.
    seen[buf] = M.settle(buf, "keep") and CONFLICT or now
  elseif reported[buf] ~= now then
    M.settle(buf, "keep") -- written once more: else Neovim would ask when its buffer is shown next
  end
  return seen[buf] == CONFLICT
end

---Makes Neovim take the buffer as written: unmodified, with the file's current time stamp, and modified again after an undo. A BufWriteCmd
---that claims to have written the file is the only way without writing it.
---@param buf integer
function M.agree(buf)
  local group = vim.api.nvim_create_augroup("claude-ide.buffer.agree", { clear = true })
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    desc = "Nothing to write: the text came from the file",
    callback = function()
      vim.bo[buf].modified = false
    end,
  })
  local during = ide_option.during
  ---Without autocommands, `:write` would write the file: in a buffer of this type it fails.
  local function set_type(buftype)
    during("eventignore", "all", function()
      vim.bo[buf].buftype = buftype
    end)
  end
  local buftype = vim.bo[buf].buftype
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    local of_window = vim.fn.exists("+eventignorewin") == 1 and vim.wo.eventignorewin or ""
    if of_window ~= "" then
      vim.cmd("noautocmd setlocal eventignorewin=")
    end
    set_type("acwrite")
    local was_taken, why = pcall(during, "eventignore", "", function()
      vim.cmd("silent keepalt keepjumps write!")
    end)
    set_type(buftype)
    if of_window ~= "" then
      vim.cmd("noautocmd setlocal eventignorewin=" .. of_window)
    end
    return was_taken or error(why, 0)
  end)
  vim.api.nvim_del_augroup_by_id(group)
  if not ok then
    log.warn("time stamp of buffer %d: %s", buf, tostring(err))
    vim.bo[buf].modified = false
  end
  M.note(buf)
end

return M
