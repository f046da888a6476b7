-- Handles keys when a proposal closes. An accepted one stays on the screen for a moment, so that the next one of the turn can
-- replace it: several edits reuse one screen. Then accept and reject keys do nothing for a moment in the window the user returns to: a
-- second `ZQ` would close their file, or quit Neovim. So do all keys that type text when a terminal ends in the middle of a line, or
-- others close a window of ours that the user types in.
-- Invariants: at most one proposal stays. Afterwards the user's mappings in that buffer are as before.
local times = require("claude-ide.base.guard_times")
local lazy = require("claude-ide.lazy")
local timers = lazy("claude-ide.base.timer")
local typing = lazy("claude-ide.ui.guard.typing")
local window = lazy("claude-ide.base.window")

local M = {}

---@type { id: any, timer: claude-ide.Timer, clear: fun() }?
local staying

---@return any? id of the proposal that stays on the screen
function M.staying()
  return staying and staying.id
end

---Closes the proposal that stays.
function M.finish()
  local ended = staying
  if ended then
    staying = nil
    ended.timer:stop()
    ended.clear()
  end
end

---Extends the time: the next proposal is on its way.
function M.await_next()
  if staying then
    staying.timer:start(times.closed_for_next, M.finish)
  end
end

---Keeps an accepted proposal on the screen until its time is over or a key other than accept and reject is pressed.
---@param id any
---@param is_deciding fun(typed: string): boolean
---@param clear fun() closes it
function M.stay(id, is_deciding, clear)
  M.finish()
  staying = { id = id, timer = timers.new("close an accepted diff"), clear = clear }
  staying.timer:start(times.closed, M.finish)
  -- The next key is for the screen underneath, unless it accepts or rejects: then it is one too many.
  typing.before_next(function(typed)
    if M.staying() ~= id then
      return false
    elseif typed and is_deciding(typed) then
      return true
    end
    M.finish()
    return false
  end)
end

local DESCRIPTION = "Claude Code: ignore a key for what has closed"

---Keys that a user types into a program, except for the arrows, `<C-c>` and `<C-\><C-n>`, which change nothing.
local TYPED = vim.split("<CR> <Tab> <BS> <Del> <Esc> <Space> <C-]> <C-_>", " ")
for byte = ("!"):byte(), ("~"):byte() do
  TYPED[#TYPED + 1] = ({ ["<"] = "<lt>", ["|"] = "<Bar>", ["\\"] = "<Bslash>" })[string.char(byte)]
    or string.char(byte)
end
for letter in ("abdefghjklopqrstuvwxyz"):gmatch(".") do
  TYPED[#TYPED + 1] = ("<C-%s>"):format(letter)
end

---@class claude-ide.ui.guard.Muted
---@field buf integer
---@field win integer
---@field timer claude-ide.Timer
---@field maps { mode: string, lhs: string, before?: table<string, any> }[]

---@type claude-ide.ui.guard.Muted?
local muted

---@param mode string
---@param lhs string
---@return table<string, any>? mapping of the current buffer, as maparg() gives it
local function own_mapping(mode, lhs)
  local found = vim.fn.maparg(lhs, mode, false, true)
  return found.buffer == 1 and found or nil
end

---@param map { mode: string, lhs: string, before?: table<string, any> }
local function put_back(map)
  local present = own_mapping(map.mode, map.lhs)
  if not present or present.desc ~= DESCRIPTION then
    return -- mapped by others meanwhile
  end
  vim.keymap.del(map.mode, map.lhs, { buffer = true })
  if map.before then
    vim.fn.mapset(map.before)
  end
end

---Restores the mappings.
local function unmute()
  local left = muted
  if not left then
    return
  end
  muted = nil
  left.timer:stop()
  local function put_all_back()
    if vim.api.nvim_buf_is_valid(left.buf) then
      vim.api.nvim_buf_call(left.buf, function()
        vim.iter(left.maps):each(put_back)
      end)
    end
  end
  if typing.is_function_chosen() then
    vim.schedule(put_all_back)
  else
    put_all_back()
  end
end

local function wait()
  if muted then
    muted.timer:start(times.closed, unmute)
  end
end

---One of the disabled keys. In another window of the buffer it has its meaning.
local function press()
  if muted and vim.api.nvim_get_current_win() ~= muted.win then
    unmute()
    typing.pass_on()
  else
    wait()
  end
end

---Disables accept and reject keys in the current window, which the user has just returned to. They stay so behind a command-line
---window or a picker that is left at once.
---@param keys string[] to disable
function M.mute_keys(keys)
  local buf, win = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  if not muted or muted.buf ~= buf then
    unmute()
    muted = { buf = buf, win = win, timer = timers.new("restore the keys of what has closed"), maps = {} }
  end
  muted.win = win
  for _, mode in ipairs(vim.bo[buf].buftype == "terminal" and { "n", "t" } or { "n" }) do
    for _, lhs in ipairs(keys) do
      local before = own_mapping(mode, lhs)
      if not before or before.desc ~= DESCRIPTION then
        muted.maps[#muted.maps + 1] = { mode = mode, lhs = lhs, before = before }
        vim.keymap.set(mode, lhs, press, { buffer = buf, nowait = true, silent = true, desc = DESCRIPTION })
      end
    end
  end
  wait()
end

---Disables the keys that type text in the current window: the terminal that they were typed into has ended.
function M.mute_typing()
  M.mute_keys(TYPED)
end

---Whether the user has begun what their next keys go on with: text, a selection, an operator's target.
---@return boolean
function M.is_typed_into()
  return vim.api.nvim_get_mode().mode:find("^[iRvV\22sS\19]") ~= nil or vim.fn.state("o") ~= ""
end

---Runs a key of a window of ours. If that closes the window, its keys do nothing in the user's file for a moment.
---@param run fun()
---@param keys string[]
function M.by_key(run, keys)
  local buf, win = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  run()
  local has_left = vim.api.nvim_get_current_buf() ~= buf or vim.api.nvim_get_current_win() ~= win
  if has_left and vim.bo.buftype == "" then
    M.mute_keys(keys)
  end
end

---Ends what the user has begun in a window that is closed.
local function break_off()
  window.end_visual()
  vim.cmd.stopinsert()
  if vim.fn.state("o") ~= "" then
    vim.api.nvim_feedkeys("\27", "in", false)
  end
end

---Closes a window of ours that others have ended. What a user who is in it goes on typing does nothing until they pause: it would be
---commands in a file, or words for a terminal's program. Keys that decide in that window do nothing for a moment.
---@param close fun()
---@param keys? string[] that decide there; nil: `close` sees to them
function M.by_others(close, keys)
  local buf, is_typed_into = vim.api.nvim_get_current_buf(), M.is_typed_into()
  local is_recent = typing.quiet_for() < times.typing
  close()
  if vim.api.nvim_get_current_buf() == buf then
    return
  elseif is_typed_into then
    break_off()
    M.mute_typing()
  elseif vim.bo.buftype == "terminal" then
    if is_recent then
      M.mute_typing()
    end
  elseif keys then
    M.mute_keys(keys)
  end
end

return M
