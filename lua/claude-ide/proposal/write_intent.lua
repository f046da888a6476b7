-- Tells a write that a user asked for from one that a plugin or an option made.
--
-- The rule: writing a proposal accepts it if a key set the write off, right now and not by way of another autocommand, in
-- the proposal's own window, and it was this buffer alone that was written. So `:w`, `:wq`, `:x`, `:update` and any key
-- mapped to them accept; autosave by timer, InsertLeave, TextChanged or FocusLost, `:wall`, and 'autowrite' before `:make`
-- or CTRL-Z do not.
local M = {}

---A hidden buffer that is always modified and comes before every proposal in the buffer list. Whoever writes all buffers
---writes it first, and that is how such a write is known.
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

---@type table<string, true>
local users = {}

---Call before the first proposal's buffer is made, and `M.stop` after the last one's is gone.
---@param user string
function M.start(user)
  users[user] = true
  if guard then
    return
  end
  require("claude-ide.ui.guard.keys").listen()
  guard = make_guard()
  vim.api.nvim_create_autocmd("QuitPre", {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude Code: what is written on the way out accepts no proposal",
    callback = function()
      -- `:wq` writes before it says that it quits, `:wqall` afterwards.
      quitting = true
      vim.bo[guard].modified = false -- or it would keep Neovim from quitting
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

---@param user string
function M.stop(user)
  users[user] = nil
  if guard and not next(users) then
    vim.api.nvim_del_augroup_by_name(GROUP)
    pcall(vim.api.nvim_buf_delete, guard, { force = true })
    guard = nil
  end
end

---Whether what is being written now is written on the way out.
---@return boolean
function M.is_quitting()
  return quitting
end

---Whether the write that this BufWriteCmd is about is one that a user asked for.
---@param buf integer the proposal's buffer
---@return boolean asked
---@return string? reason why not, for the log
---@return boolean? automatic nobody pressed a key for it: a plugin saves by itself
function M.of_user(buf)
  if all_are_written or quitting then
    return false, "all buffers are written"
  elseif vim.api.nvim_get_current_buf() ~= buf then
    return false, "another buffer is the current one"
  end
  local keys = require("claude-ide.ui.guard.keys")
  if not keys.caused_this("diff/writes.lua") then
    return false, "no key was pressed", true
  elseif vim.fn.state("c") ~= "" then
    -- One of Vim script, which may come right between a key and what it sets off.
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

---The buffer that is written first by whoever writes all.
---@return integer? buf
function M.guard()
  return guard and vim.api.nvim_buf_is_valid(guard) and guard or nil
end

return M
