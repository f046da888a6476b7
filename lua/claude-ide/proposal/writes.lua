-- Interprets a write of a proposal's buffer: the user's `:w` accepts. Automatic writes, partial writes and writes under another name
-- decide nothing, with a notice.
--
-- A write accepts if a key triggered it directly, not through another autocommand, in the proposal's window, and if only this buffer was
-- written. So `:w`, `:wq`, `:x`, `:update` and mappings to them accept; autosave by timer, InsertLeave, TextChanged or FocusLost,
-- `:wall`, and 'autowrite' before `:make` or CTRL-Z do not.
local M = {}

---A hidden buffer that is always modified and precedes every proposal in the buffer list. Commands that write all buffers write it
---first, which identifies them.
local guard ---@type integer?
local all_are_written = false
local quitting = false

local GROUP = "claude-ide.proposal.intent"

---@return integer buf
local function make_guard()
  local buf = require("claude-ide.ui.own_buffer").create({
    kind = "guard",
    bo = { buftype = "acwrite", modified = true },
  })
  vim.api.nvim_buf_set_name(buf, "claude://guard")
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buf,
    desc = "Claude Code: all buffers are being written",
    callback = function()
      all_are_written = true
      require("claude-ide.ui.guard.keys").soon(function()
        all_are_written = false
      end, true)
    end,
  })
  return buf
end

---Call it before the first proposal's buffer is created, and `M.stop` after the last one is deleted.
function M.start()
  if guard then
    return
  end
  require("claude-ide.ui.guard.keys").listen()
  guard = make_guard()
  vim.api.nvim_create_autocmd("QuitPre", {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude Code: writes of a quitting command accept no proposal",
    callback = function()
      -- `:wq` writes before QuitPre, `:wqall` after it.
      quitting = true
      vim.bo[guard].modified = false -- else it would prevent quitting
      vim.schedule(function()
        quitting = false
      end)
      require("claude-ide.ui.guard.keys").soon(function()
        if guard and vim.api.nvim_buf_is_valid(guard) then
          vim.bo[guard].modified = true
        end
      end, true)
    end,
  })
end

function M.stop()
  if guard then
    vim.api.nvim_del_augroup_by_name(GROUP)
    pcall(vim.api.nvim_buf_delete, guard, { force = true })
    guard = nil
  end
end

---Whether the user requested the current write.
---@param buf integer of the proposal
---@return boolean asked
---@return string? reason why not, for the log
---@return boolean? automatic a plugin saves without a key
local function of_user(buf)
  if all_are_written or quitting then
    return false, "all buffers are written"
  elseif vim.api.nvim_get_current_buf() ~= buf then
    return false, "another buffer is the current one"
  end
  local keys = require("claude-ide.ui.guard.keys")
  if not keys.caused_this() then
    return false, "no key was pressed", true
  elseif vim.fn.state("c") ~= "" then
    -- A Vim script callback, which may run between a key and its effect.
    return false, "a timer or another callback writes", true
  end
  local pressed_in = keys.window()
  local elsewhere = pressed_in and pressed_in ~= vim.api.nvim_get_current_win()
  if pressed_in and elsewhere and vim.api.nvim_win_is_valid(pressed_in) then
    return false, "the key was pressed in another window"
  end
  local stack = vim.fn.expand("<stack>") --[[@as string]]
  local _, autocommands = stack:gsub(" Autocommands for ", "")
  if autocommands > 1 then
    return false, "another autocommand writes", true
  end
  return true
end

---The guard buffer.
---@return integer? buf
function M.guard()
  return guard and vim.api.nvim_buf_is_valid(guard) and guard or nil
end

---Whether it is written under another name: `:w copy`, `:saveas copy`, `:file copy | w`, `:1w >> copy`.
---@param buf integer of the proposal
---@param event { match: string, file: string } target, in full and as given
---@return boolean
local function is_copy(buf, event)
  local is_own_name = require("claude-ide.ui.ours").is_own_name
  return not (is_own_name(buf, vim.api.nvim_buf_get_name(buf)) and is_own_name(buf, event.match, event.file))
end

---Restores the proposal's buffer name, which `:saveas` has moved to a new buffer.
local function take_name_back(buf)
  local ours = require("claude-ide.ui.ours")
  if ours.is_own_name(buf, vim.api.nvim_buf_get_name(buf)) then
    return
  end
  require("claude-ide.ui.quietly").run(function()
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if other ~= buf and ours.is_own_name(buf, vim.api.nvim_buf_get_name(other)) then
        require("claude-ide.window").delete_buffer(other)
      end
    end
    ours.name_again(buf)
  end)
end

---Makes the current command fail without an error message: `:wq copy` must not quit.
local function fail_command()
  local flags = vim.o.cpoptions
  if not flags:find("+", 1, true) then
    -- With this flag a write of a copy fails for a buffer that is still modified.
    vim.o.cpoptions = flags .. "+"
    vim.schedule(function()
      vim.o.cpoptions = flags
    end)
  end
end

---Writes the text of a BufWriteCmd, FileWriteCmd or FileAppendCmd, and reports like Neovim.
---@param buf integer of the proposal, current
---@param name string
---@param appends boolean
local function write_copy(buf, name, appends)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bang = vim.v.cmdbang == 1 and "!" or ""
  take_name_back(buf)
  local file = vim.fn.fnamemodify(name, ":.") -- after the name was restored: with 'autochdir' that changes the folder
  local command = ("noautocmd %d,%dwrite%s %s %s%s"):format(
    first,
    last,
    bang,
    vim.v.cmdarg,
    appends and ">> " or "",
    vim.fn.fnameescape(file)
  )
  local ok, result = pcall(vim.api.nvim_exec2, command, { output = true })
  if ok then
    local written = result.output:match("[^\n]*$")
    require("claude-ide.ui.notice").as_neovim(
      require("claude-ide.ui.one_line").fitting({ written .. " · the proposal still waits", written })
    )
  else
    fail_command()
    require("claude-ide.ui.notice").as_neovim(
      ('"%s" %s'):format(file, (tostring(result):gsub("^.*Vim%(write%):", ""))),
      "ErrorMsg"
    )
  end
end

local told_of_autosave = false

---@param buf integer
---@param diff claude-ide.Diff
---@param path string of the proposal
local function note_unasked(buf, diff, path)
  local _, reason, automatic = of_user(buf)
  require("claude-ide.log").debug("a write of proposal %d was ignored: %s", diff.id, reason)
  local notice = require("claude-ide.ui.notice")
  if quitting then
    vim.schedule(function()
      local file = vim.fs.basename(path)
      notice.warn(require("claude-ide.ui.one_line").fitting({
        ("You have typed into the proposal for %s: decide on it, then quit."):format(file),
        "You have typed into a proposal: decide, then quit.",
      }))
    end)
  elseif automatic and not told_of_autosave then
    told_of_autosave = true
    vim.schedule(function()
      notice.info("Something saved the proposal by itself. That does not accept it.")
    end)
  end
end

---@param entry claude-ide.proposal.Entry
---@param file claude-ide.proposal.File
---@param event { buf: integer, event: string, match: string, file: string } target, in full and as given
local function on_write(entry, file, event)
  local notice, guarded = require("claude-ide.ui.notice"), require("claude-ide.ui.guard.window")
  local buf, sight = event.buf, require("claude-ide.proposal.state").sight(entry)
  if is_copy(buf, event) then
    return write_copy(buf, event.match, event.event == "FileAppendCmd")
  elseif event.event ~= "BufWriteCmd" then
    notice.info("Nothing is decided: a part of a proposal is not written. `:w` accepts all of it.")
  elseif not of_user(buf) then
    note_unasked(buf, entry.diff, file.path)
  elseif not require("claude-ide.config").get().diff.accept_on_write then
    notice.info("Writing does not accept here. `:Claude accept` does.")
  elseif not guarded.proposal_accepts_key(sight) then
    if guarded.is_typed_ahead(sight) then
      notice.info("Not accepted: this proposal has only just come. `:w` again accepts it.")
    end
  else
    entry.verbs.accept()
  end
end

---@param entry claude-ide.proposal.Entry on the screen
---@param file claude-ide.proposal.File prepared
function M.attach(entry, file)
  vim.api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    group = entry.group,
    buffer = file.text.bufs.proposal,
    desc = "Claude Code: a proposal is written",
    callback = function(event)
      on_write(entry, file, event)
    end,
  })
end

return M
