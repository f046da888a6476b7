-- What Neovim believes of the file behind a buffer: its time stamp, and who is asked when the file changes.
-- Invariant: nothing here asks the user. Neovim's own questions (W11, W12, "really write to it?") block everything, so what
-- would bring them up is found out first.
local M = {}

---The file as it was when its buffer was last read or written, by buffer; `CONFLICT` where it is known to be another now.
---@type table<integer, string>
local seen = {}

local CONFLICT = "conflict"

---Buffers whose file did not exist when they began. Should Neovim find it later, it asks (W13), and no autocommand is asked before.
---@type table<integer, true>
local without_file = {}

---How the file of a buffer looks now.
---@param buf integer
---@return string? nil: there is no such file
function M.key_now(buf)
  return require("claude-ide.file").key_now(vim.api.nvim_buf_get_name(buf))
end

---Notes that a buffer was read or written just now.
---@param buf integer
function M.note(buf)
  seen[buf], without_file[buf] = M.key_now(buf), nil
end

---Follows reads and writes from now on.
function M.attach()
  local group = vim.api.nvim_create_augroup("claude-ide.buffer.stamp", { clear = true })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufWritePost" }, {
    group = group,
    desc = "Claude: know which files change on disk",
    callback = function(event)
      if vim.bo[event.buf].buftype == "" then
        M.note(event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufFilePost" }, {
    group = group,
    desc = "Claude: forget buffers that went",
    callback = function(event)
      seen[event.buf] = nil
      without_file[event.buf] = event.event == "BufFilePost" and without_file[event.buf] or nil
    end,
  })
  vim.api.nvim_create_autocmd("BufNewFile", {
    group = group,
    desc = "Claude: know which buffers have no file yet",
    callback = function(event)
      without_file[event.buf] = vim.bo[event.buf].buftype == "" or nil
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local is_loaded = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    without_file[buf] = is_loaded and vim.api.nvim_buf_get_name(buf) ~= "" and not M.key_now(buf) or nil
  end
end

---Stops following.
function M.detach()
  vim.api.nvim_create_augroup("claude-ide.buffer.stamp", { clear = true })
  seen, without_file = {}, {}
end

---Whether an autocommand is one of others and runs for a buffer.
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

---Whether an autocommand that is not ours is responsible for such an event of a buffer.
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

---Lets Neovim compare its time stamp of a file with the disk, asks the FileChangedShell autocommands of others, and
---decides in the user's place what happens.
---@param buf integer
---@param answer "reload"|"keep" reload: Neovim reads the file itself, detecting encoding and format anew
---@return string? reason v:fcs_reason; nil: Neovim knows of no change
---@return string? verdict v:fcs_choice of other FileChangedShell autocommands, where there are any
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
      if others then
        verdict = vim.v.fcs_choice
      end
      local wanted = not others or verdict == "reload" or verdict == "edit"
      vim.v.fcs_choice = (answer == "reload" and wanted) and "edit" or ""
    end,
  })
  local ignored = vim.o.eventignore
  vim.o.eventignore = ""
  -- 'autoread' would reload before any autocommand is asked; only the local value is touched, and put back as it was.
  local autoread = vim.api.nvim_buf_call(buf, function()
    local value = vim.api.nvim_get_option_value("autoread", { scope = "local" })
    vim.cmd("noautocmd setlocal noautoread")
    return value
  end)
  local ok, err = pcall(vim.api.nvim_command, ("silent %dchecktime"):format(buf))
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_call(buf, function()
      -- `set autoread<` takes the local value away; `setlocal autoread<` would copy the global one.
      vim.cmd(
        "noautocmd " .. (autoread == nil and "set autoread<" or autoread and "setlocal ar" or "setlocal noar")
      )
    end)
  end
  vim.o.eventignore = ignored
  vim.api.nvim_del_augroup_by_id(group)
  if not ok then
    require("claude-ide.log").warn("checktime of buffer %d failed: %s", buf, tostring(err))
  end
  return reason, verdict
end

---Notes that Neovim has just said that a file and its modified buffer are no longer the same: it says so only once.
---@param buf integer
function M.note_conflict(buf)
  seen[buf] = CONFLICT
end

---Whether the file was changed by others since the buffer was read, so that `:write` would ask.
---@param buf integer
---@return boolean
function M.is_conflict(buf)
  local now = M.key_now(buf)
  if not now then
    return false -- deleted: `:write` makes it anew
  elseif seen[buf] then
    return seen[buf] ~= now
  elseif without_file[buf] then
    seen[buf] = CONFLICT
    return true
  end
  -- Read before we looked: Neovim itself knows, but says so only once.
  local reason = M.settle(buf, "keep")
  if reason then
    seen[buf] = CONFLICT
  end
  return reason ~= nil
end

---Makes Neovim take the buffer for what is on disk now: unmodified, with the file's time stamp, and modified again after
---an undo. An autocommand that claims to have written the file is the one way to say so without writing.
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
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt keepjumps write!")
  end)
  vim.api.nvim_del_augroup_by_id(group)
  if not ok then
    require("claude-ide.log").warn("time stamp of buffer %d: %s", buf, tostring(err))
    vim.bo[buf].modified = false
  end
  M.note(buf)
end

return M
