-- The input guard: no key acts on something that the user has not seen. Plugin windows open unprompted, while the user types.
--
-- 1. Nothing changes under a pending command (`waits`): no text under an operator, a selection or a search, no buffers and windows
--    while Neovim locks them.
-- 2. A window opens (this module) when no key was just pressed and no command is pending. One that takes the focus also waits for
--    normal mode; it comes over a terminal in use only if it answers what was sent there, and no line is half-typed. It leaves a
--    window that the user has just entered in peace. A prompt in insert mode counts as free during a pause.
-- 3. In a window that opened unprompted, a key acts (`window`) once the window is drawn and, if the user may have been typing when
--    it opened, after a pause. Keys queued during a stall of the event loop never act on it.
-- 4. After a proposal has closed, accept and reject keys do nothing for a moment in the window that the user returns to (`closing`).
--    After a terminal has ended with a half-typed line, or others have closed a window that the user types in, no key that types text
--    does.
--
-- A window that the user's last key asked for opens at once. `times` has the durations, `keys` records typing.
local times = require("claude-ide.base.guard_times")
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local choose = lazy("claude-ide.ui.choose")
local log = lazy("claude-ide.base.log")
local modifiers = lazy("claude-ide.ui.modifiers")
local typing = lazy("claude-ide.ui.guard.typing")
local ui_hint = lazy("claude-ide.ui.hint")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@class claude-ide.ui.guard.Opening
---@field show fun(typed: boolean) typed: the user pressed a key a moment ago, and may continue
---@field name? string file of a diff that waits; nil: waits only for short states
---@field words? string hint for other windows: "Claude wants to run code"
---@field asks_here? fun(): boolean the user is in the terminal of the program that asks

---Waiting entries, and their order.
---@type table<any, claude-ide.ui.guard.Opening>
local openings = {}
local order = {} ---@type any[]

---The pending command or mode, except for typing in a terminal.
---@param mode { mode: string, blocking: boolean }
---@param besides_macros? boolean
---@return claude-ide.ui.guard.Busy?
local function begun(mode, besides_macros)
  if mode.blocking then
    return { reason = "Neovim waits for a key", again_in = times.again }
  elseif choose.is_open() then
    return { reason = "a list is open", again_in = times.again, till = "when you have chosen" }
  elseif vim.fn.getcmdwintype() ~= "" then
    return { reason = "the command-line window is open", till = "when this window is closed" }
  elseif not besides_macros and vim.fn.reg_recording() ~= "" then
    return { reason = "a macro is recorded", till = "when the macro is recorded" }
  elseif not besides_macros and vim.fn.reg_executing() ~= "" then
    return { reason = "a macro runs", again_in = times.again }
  elseif mode.mode:find("^[iR]") then
    return { reason = "mode " .. mode.mode, till = "when you leave insert mode" }
  elseif mode.mode:find("^no") then
    return { reason = "an operator waits", till = "when you are back in normal mode", passing = true }
  elseif mode.mode ~= "n" and mode.mode ~= "nt" and mode.mode ~= "t" then
    return { reason = "mode " .. mode.mode, till = "when you are back in normal mode" }
  end
  return nil
end

---Milliseconds until a pause in a prompt counts as waiting for Claude.
---@param mode string
---@return number? nil: not in insert mode in a prompt
local function until_pause(mode)
  local buf = vim.api.nvim_get_current_buf()
  if not mode:find("^i") or buffer_marks.kind(buf) ~= "prompt" then
    return nil
  end
  local is_empty = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) <= 1
  return (is_empty and times.quiet or times.prompt_quiet) - typing.quiet_for()
end

---@return claude-ide.ui.guard.Busy? nil: the screen may change now, after `leave_prompt` in insert mode
function M.busy()
  local mode = vim.api.nvim_get_mode()
  local left_there = until_pause(mode.mode)
  local busy = (not left_there or mode.blocking or vim.fn.reg_recording() ~= "") and begun(mode) or nil
  if busy then
    return busy
  elseif left_there and left_there > 0 then
    return {
      reason = "a prompt is written",
      again_in = left_there,
      till = "when you pause or leave insert mode",
    }
  elseif mode.mode == "t" then
    if typing.has_draft(vim.api.nvim_get_current_buf()) then
      return {
        reason = "a line is typed in a terminal",
        again_in = times.terminal_quiet,
        till = "when you have sent this line",
      }
    end
    local left = times.terminal_quiet - typing.quiet_for()
    return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
  end
  if waits.windows_are_locked() then
    return { reason = "Neovim locks windows", again_in = times.again }
  end
  -- Neovim is not at its top level, or a key's code still runs: a plugin may wait for a key, a script may sleep.
  if vim.fn.state("S") ~= "" or typing.is_within_key() then
    return { reason = "something runs", again_in = times.again }
  end
  local left = times.quiet - typing.quiet_for()
  return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
end

---Whether the user may still be typing. Not in a terminal: a window that opens after a sent line answers it.
local function is_at_keys()
  return vim.api.nvim_get_mode().mode ~= "t" and typing.quiet_for() < times.typing
end

---Whether this state delays the entry.
---@param entry claude-ide.ui.guard.Opening
---@param busy? claude-ide.ui.guard.Busy
---@return boolean
local function holds_up(entry, busy)
  return busy ~= nil and (entry.name ~= nil or busy.passing == true or not busy.till)
end

---What holds an opening up. One that takes the focus takes it neither from a terminal of another program nor from a window that the
---user has just entered: what is typed next is meant for these.
---@param opening claude-ide.ui.guard.Opening
---@return claude-ide.ui.guard.Busy?
local function busy_for(opening)
  local busy = M.busy()
  if busy or not opening.name then
    return busy
  elseif vim.api.nvim_get_mode().mode == "t" and not (opening.asks_here and opening.asks_here()) then
    return { reason = "the user is in a terminal", till = "when you leave the terminal" }
  end
  local left = times.entered - typing.entered_for()
  return left > 0 and { reason = "a window was just entered", again_in = left } or nil
end

---Shows what waits for the user to do something, or hides the hint.
local function hint()
  local names, other, till = {}, nil, nil ---@type string[], string?, string?
  for _, id in ipairs(order) do
    local opening = openings[id]
    local busy = busy_for(opening)
    if busy and busy.till then
      till, other = till or busy.till, other or opening.words
      names[#names + 1] = not opening.words and opening.name or nil
    end
  end
  if not till or (#names == 0 and not other) then
    ui_hint.hide()
    return
  elseif #names == 0 then
    ui_hint.show(("%s · opens %s"):format(other, till))
    return
  end
  local what = #names == 1 and "a change to " .. names[1] or #names .. " changes"
  ui_hint.show(("Claude proposes %s · opens %s"):format(what, till))
end

---The prompt in which insert mode is about to begin again: Neovim begins it only when it waits for a key.
---@type { buf: integer, at_end: boolean }?
local resuming

---@param buf integer prompt
---@param at_end boolean
local function resume(buf, at_end)
  resuming = { buf = buf, at_end = at_end }
  vim.api.nvim_create_autocmd({ "InsertEnter", "BufLeave" }, {
    group = vim.api.nvim_create_augroup("claude-ide.ui.guard.resume", { clear = true }),
    buffer = buf,
    once = true,
    desc = "Claude Code: note that insert mode was resumed",
    callback = function()
      resuming = nil
    end,
  })
  vim.cmd.startinsert({ bang = at_end })
end

---Leaves insert mode in a prompt for a question; it resumes when the user returns.
local function leave_prompt()
  local buf = vim.api.nvim_get_current_buf()
  local at_end = resuming and resuming.at_end or vim.fn.col(".") >= vim.fn.col("$")
  resuming = nil
  vim.cmd.stopinsert()
  local was_away = false
  local group = vim.api.nvim_create_augroup("claude-ide.ui.guard.prompt", { clear = true })
  local watch ---@type integer
  local function back()
    if vim.api.nvim_get_current_buf() ~= buf then
      return -- another question has opened in the meantime: after it
    elseif pcall(vim.api.nvim_del_autocmd, watch) and vim.api.nvim_get_mode().mode == "n" then
      resume(buf, at_end)
    end
  end
  -- Not on BufEnter: a closing diff goes back without events.
  watch = vim.api.nvim_create_autocmd("SafeState", {
    group = group,
    desc = "Claude Code: resume insert mode in a prompt",
    callback = function()
      if vim.api.nvim_get_current_buf() ~= buf then
        was_away = true
        return not vim.api.nvim_buf_is_valid(buf)
      elseif was_away then
        vim.schedule(back) -- SafeState: Neovim already waits for a key
      end
    end,
  })
end

---@param opening claude-ide.ui.guard.Opening
---@return boolean insert mode in a prompt must be left first
local function must_leave(opening)
  local is_resuming = resuming ~= nil and resuming.buf == vim.api.nvim_get_current_buf()
  return opening.name ~= nil and (is_resuming or until_pause(vim.api.nvim_get_mode().mode) ~= nil)
end

---@return claude-ide.ui.guard.Busy?
local function why_not_now(opening)
  local busy = busy_for(opening)
  hint()
  if holds_up(opening, busy) then
    return busy
  elseif must_leave(opening) then
    leave_prompt()
    return { reason = "a prompt is left", again_in = 0 }
  end
end

---@param id any
local function remove(id)
  openings[id] = nil
  order = vim.tbl_filter(function(other)
    return other ~= id
  end, order)
  waits.forget(id)
  hint()
end

---@param id any
---@param opening claude-ide.ui.guard.Opening
local function open_in_time(id, opening)
  local busy = busy_for(opening)
  if #order == 0 and not holds_up(opening, busy) and not must_leave(opening) then
    return opening.show(is_at_keys())
  end
  log.debug("%s waits: %s", id, busy and busy.reason or "others do")
  M.forget(id)
  typing.listen()
  openings[id], order[#order + 1] = opening, id
  hint()
  waits.add(id, function()
    return why_not_now(opening)
  end, function()
    remove(id)
    opening.show(is_at_keys())
  end)
end

---Calls `show` when the screen may change: at once, or when the user is idle in normal mode.
---@param id any names the entry for `forget`
---@param name string file, for the hint
---@param show fun(typed: boolean) typed: the user pressed a key a moment ago, and may continue
---@param words? string hint for windows that are no diffs
---@param asks_here? fun(): boolean the user is in the terminal of the program that asks
function M.when_idle(id, name, show, words, asks_here)
  open_in_time(id, { name = name, show = show, words = words, asks_here = asks_here })
end

---@class claude-ide.ui.guard.Request
---@field keys integer number of keys pressed before the request
---@field modifiers? claude-ide.ui.Modifiers of its command

---Call it when the user requests a window that opens later.
---@return claude-ide.ui.guard.Request
function M.request()
  typing.listen()
  return { keys = typing.count(), modifiers = modifiers.given() }
end

local function still_waits(request)
  return typing.count() == request.keys
end

---Whether the focus may move on the user's last key: in normal mode, with no command pending, not in a terminal. A macro may be recorded
---or run if its last key has asked for the window.
---@param request? claude-ide.ui.guard.Request
---@return boolean
function M.may_focus(request)
  local mode = vim.api.nvim_get_mode()
  return mode.mode ~= "t" and begun(mode, request ~= nil and still_waits(request)) == nil
end

---Calls `show` for a requested question or window that takes the focus: at once, or like `when_idle` if the user has pressed keys
---since.
---@param id any names the entry for `forget`
---@param words string for the hint
---@param show fun()
---@param request claude-ide.ui.guard.Request
function M.when_requested(id, words, show, request)
  show = modifiers.keep(show, request.modifiers)
  if still_waits(request) then
    show()
  else
    M.when_idle(id, words, show, words)
  end
end

---Calls `show` when no command is pending and no key was just pressed. A requested window opens at once, unless the user has
---pressed keys since.
---@param id any names the entry for `forget`
---@param show fun()
---@param request? claude-ide.ui.guard.Request
function M.when_no_key(id, show, request)
  show = request and modifiers.keep(show, request.modifiers) or show
  if request and still_waits(request) then
    show()
  else
    open_in_time(id, { show = show })
  end
end

---@param id any
---@return boolean
function M.is_waiting(id)
  return openings[id] ~= nil
end

---Removes a waiting entry.
---@param id any
function M.forget(id)
  if openings[id] then
    remove(id)
  end
end

return M
