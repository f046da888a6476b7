-- Delays functions until the editor's state allows them: no text changes under a pending command, no change while Neovim locks it.
local times = require("claude-ide.base.guard_times")
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local safely = lazy("claude-ide.base.safely")

local M = {}

local GROUP = "claude-ide.ui.guard.waits"

---@class claude-ide.ui.guard.Busy why to wait
---@field reason string for the log
---@field again_in? number milliseconds until the next check; nil: an event triggers it
---@field till? string what the user must do, for the hint; nil: over in a moment
---@field passing? boolean over in a moment, even with `till`

---@class claude-ide.ui.guard.Waiting
---@field id any
---@field run fun()
---@field blocked fun(): claude-ide.ui.guard.Busy?

local waiting = {} ---@type claude-ide.ui.guard.Waiting[]
local timer = timers.new("do what waits")
local look ---@type fun()

local function look_in(milliseconds)
  timer:start(milliseconds, look)
end

local function listen()
  vim.api.nvim_create_autocmd({ "ModeChanged", "CmdwinLeave", "RecordingLeave", "BufEnter" }, {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude Code: run callbacks after a pending command",
    callback = function()
      look_in(0)
    end,
  })
end

local function stop()
  if #waiting == 0 then
    timer:stop()
    pcall(vim.api.nvim_del_augroup_by_name, GROUP)
  end
end

function look()
  local ready, rest, again_in = {}, {}, math.huge
  for _, one in ipairs(waiting) do
    local busy = one.blocked()
    local list = busy and rest or ready
    list[#list + 1] = one
    again_in = math.min(again_in, busy and busy.again_in or math.huge)
  end
  waiting = rest
  if again_in < math.huge then
    look_in(again_in)
  end
  for _, one in ipairs(ready) do
    safely.wrap("do what waited", one.run)()
  end
  stop()
end

---Runs `run` in a later turn of the event loop, as soon as `blocked` returns nil.
---@param id any replaces an entry with the same id
---@param blocked fun(): claude-ide.ui.guard.Busy?
---@param run fun()
function M.add(id, blocked, run)
  M.forget(id)
  waiting[#waiting + 1] = { id = id, blocked = blocked, run = run }
  if #waiting == 1 then
    listen()
  end
  look_in(0)
end

---@param id? any nil: any
---@return boolean
function M.is_waiting(id)
  return vim.iter(waiting):any(function(one)
    return id == nil or one.id == id
  end)
end

---@param id any
function M.forget(id)
  waiting = vim.tbl_filter(function(one)
    return one.id ~= id
  end, waiting)
  stop()
end

---The pending command that acts on a range of a buffer, if any: lines of it must not come or go, since Neovim does not adjust the
---start of the range.
---@param buf integer
---@return "visual"|"select"|"operator"?
function M.pending_range(buf)
  if vim.api.nvim_get_current_buf() ~= buf then
    return nil
  end
  local mode = vim.api.nvim_get_mode().mode
  if vim.fn.getcmdtype():find("^[/?]") then
    -- The search may be the target of an operator or a selection. Only wordcount() reports a selection.
    return (vim.fn.state("o") ~= "" or vim.fn.wordcount().visual_words ~= nil) and "operator" or nil
  end
  return mode:find("^no") and "operator"
    or mode:find("^[vV\22]") and "visual"
    or mode:find("^[sS\19]") and "select"
    or nil
end

---Whether a change of text now would affect a pending command: an operator, select mode, a search as a target (`d/…`), or the
---command-line window.
---@return boolean
function M.is_command_pending()
  local mode = vim.api.nvim_get_mode().mode
  if mode:find("^no") or mode:find("^[sS\19]") or vim.fn.getcmdwintype() ~= "" then
    return true
  end
  -- Since 0.11 the mode does not tell whether a search extends a selection.
  return vim.fn.getcmdtype():find("^[/?]") ~= nil or mode:find("^c") ~= nil and vim.fn.state("o") ~= ""
end

---Runs `run` as soon as no command is pending, in a later turn of the event loop.
---@param id any
---@param run fun()
---@param is_blocked? fun(): boolean default: `is_command_pending`
function M.when_text_may_change(id, run, is_blocked)
  local blocked = is_blocked or M.is_command_pending
  M.add(id, function()
    return blocked() and { reason = "a command is pending" } or nil
  end, run)
end

---Number of no buffer.
local NO_BUFFER = 2147483647

---Whether buffers are locked: an `<expr>` mapping waits for a key.
local function buffers_are_locked()
  local _, err = pcall(vim.api.nvim_buf_delete, NO_BUFFER, {})
  return tostring(err):find("E565") ~= nil
end

---Whether windows are locked: the command-line window is open, or buffers are locked.
---@return boolean
function M.windows_are_locked()
  return vim.fn.getcmdwintype() ~= "" or buffers_are_locked()
end

---@return string? reason for the user; nil: windows can be opened
function M.why_locked()
  if vim.fn.getcmdwintype() ~= "" then
    return "Close the command-line window first: `:q`, or `<C-c>` twice."
  end
  return buffers_are_locked() and "No window can be opened now." or nil
end

---@param is_locked fun(): boolean
---@param run fun()
local function when_unlocked(is_locked, run)
  if not is_locked() then
    return run()
  end
  M.add({}, function()
    return is_locked() and { reason = "Neovim locks windows", again_in = times.again } or nil
  end, run)
end

---Runs `run` once buffers may change: usually at once.
---@param run fun()
function M.when_buffers_may_change(run)
  when_unlocked(buffers_are_locked, run)
end

---Runs `run` once windows may change.
---@param run fun()
function M.when_windows_may_change(run)
  when_unlocked(M.windows_are_locked, run)
end

return M
