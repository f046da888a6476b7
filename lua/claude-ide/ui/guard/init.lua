-- The input guard: no key acts on what the user has not seen. Windows of ours open by themselves, while they type.
--
-- 1. Nothing changes under a command that has begun (`waits`): text not while an operator, a selection or a search waits for it,
--    buffers and windows not while Neovim locks them.
-- 2. Something opens (here) when no key was just pressed and no command is begun. What takes the focus waits for normal mode too, or
--    for a terminal without a line that is typed. A prompt that is written in insert mode counts as free in a pause.
-- 3. In a window that opened by itself, a key decides (`window`) once the window is drawn, and, if the user may have been typing
--    when it opened, when the keys have paused. Keys that were queued while the event loop stalled are never meant for it.
-- 4. After a proposal has closed, keys that decide do nothing for a moment where the user lands (`closing`).
--
-- What the user asked for with their last key opens at once. How long "just" and "a moment" are: `times`. What is typed: `keys`.
local M = {}

local times = require("claude-ide.ui.guard.times")

---@class claude-ide.ui.guard.Opening
---@field show fun(typed: boolean) typed: the user was at the keys a moment ago, and may go on
---@field name? string of the file that a diff waits for; nil: no diff, it waits only for what is over in a moment
---@field words? string what waits, where it is no diff: "Claude wants to run code"

---What waits to be opened, and in which order.
---@type table<any, claude-ide.ui.guard.Opening>
local openings = {}
local order = {} ---@type any[]

---What the user is in the middle of, as far as Neovim's state tells; what is typed in a terminal apart.
---@param mode { mode: string, blocking: boolean }
---@return claude-ide.ui.guard.Busy?
local function begun(mode)
  if mode.blocking then
    return { reason = "Neovim waits for a key", again_in = times.again }
  elseif require("claude-ide.ui.choose").is_open() then
    return { reason = "a list is open", again_in = times.again, till = "when you have chosen" }
  elseif vim.fn.getcmdwintype() ~= "" then
    return { reason = "the command-line window is open", till = "when this window is closed" }
  elseif vim.fn.reg_recording() ~= "" then
    return { reason = "a macro is recorded", till = "when the macro is recorded" }
  elseif vim.fn.reg_executing() ~= "" then
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

---Milliseconds until somebody who writes to Claude counts as one who waits for it.
---@param mode string
---@return number? nil: they are not in insert mode in a prompt
local function until_pause(mode)
  local buf = vim.api.nvim_get_current_buf()
  if not mode:find("^i") or require("claude-ide.ui.ours").kind(buf) ~= "prompt" then
    return nil
  end
  local is_empty = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) <= 1
  return (is_empty and times.quiet or times.prompt_quiet) - require("claude-ide.ui.guard.keys").quiet_for()
end

---@return claude-ide.ui.guard.Busy? nil: the screen may change now, in insert mode once that is left (`leave_prompt`)
function M.busy()
  local mode = vim.api.nvim_get_mode()
  local keys = require("claude-ide.ui.guard.keys")
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
    if keys.has_draft(vim.api.nvim_get_current_buf()) then
      return {
        reason = "a line is typed in a terminal",
        again_in = times.terminal_quiet,
        till = "when you have sent this line",
      }
    end
    local left = times.terminal_quiet - keys.quiet_for()
    return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
  end
  if require("claude-ide.ui.guard.waits").windows_are_locked() then
    return { reason = "Neovim locks windows", again_in = times.again }
  end
  -- Neovim is not at its top level, or what a key set off is not over: a plugin may ask for the next key, a script may sleep.
  if vim.fn.state("S") ~= "" or keys.is_within_key() then
    return { reason = "something runs", again_in = times.again }
  end
  local left = times.quiet - keys.quiet_for()
  return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
end

---Whether the focus may move to what the user asked for with the key they pressed last: they are in normal mode, in the
---middle of nothing, and not in a terminal that they may be typing in.
---@return boolean
function M.may_focus()
  local mode = vim.api.nvim_get_mode()
  return mode.mode ~= "t" and begun(mode) == nil
end

---Whether the hands may go on with what they did a moment ago. What comes after a line was sent in a terminal is its answer.
local function is_at_keys()
  return vim.api.nvim_get_mode().mode ~= "t"
    and require("claude-ide.ui.guard.keys").quiet_for() < times.typing
end

---Whether this is enough to keep something waiting.
---@param entry claude-ide.ui.guard.Opening
---@param busy? claude-ide.ui.guard.Busy
---@return boolean
local function holds_up(entry, busy)
  return busy ~= nil and (entry.name ~= nil or busy.passing == true or not busy.till)
end

---Says which diffs wait, or takes the line away.
---@param busy? claude-ide.ui.guard.Busy
local function hint(busy)
  local names, other = {}, nil ---@type string[], string?
  for _, id in ipairs(order) do
    local opening = openings[id]
    other = other or opening.words
    names[#names + 1] = not opening.words and opening.name or nil
  end
  if not busy or not busy.till or (#names == 0 and not other) then
    require("claude-ide.ui.hint").hide()
    return
  elseif #names == 0 then
    require("claude-ide.ui.hint").show(("%s · opens %s"):format(other, busy.till))
    return
  end
  local what = #names == 1 and "a change to " .. names[1] or #names .. " changes"
  require("claude-ide.ui.hint").show(("Claude proposes %s · opens %s"):format(what, busy.till))
end

---Takes somebody who writes to Claude out of insert mode, for a question to be answered; they go on writing when they come back.
local function leave_prompt()
  local buf, at_end = vim.api.nvim_get_current_buf(), vim.fn.col(".") >= vim.fn.col("$")
  vim.cmd.stopinsert()
  local was_away = false
  -- Not when the buffer is entered: a diff that ends goes back without a word.
  vim.api.nvim_create_autocmd("SafeState", {
    group = vim.api.nvim_create_augroup("claude-ide.ui.guard.prompt", { clear = true }),
    desc = "Claude Code: who wrote a prompt goes on writing",
    callback = function()
      if vim.api.nvim_get_current_buf() ~= buf then
        was_away = true
        return not vim.api.nvim_buf_is_valid(buf)
      elseif was_away then
        vim.schedule(function() -- here Neovim is about to wait for a key already
          if vim.api.nvim_get_current_buf() == buf and vim.api.nvim_get_mode().mode == "n" then
            vim.cmd.startinsert({ bang = at_end })
          end
        end)
        return true
      end
    end,
  })
end

---@param opening claude-ide.ui.guard.Opening
---@return boolean insert mode in a prompt is to be left before
local function must_leave(opening)
  return opening.name ~= nil and until_pause(vim.api.nvim_get_mode().mode) ~= nil
end

---@param opening claude-ide.ui.guard.Opening that waits
---@return claude-ide.ui.guard.Busy?
local function why_not_now(opening)
  local busy = M.busy()
  hint(busy)
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
  require("claude-ide.ui.guard.waits").forget(id)
  if #order == 0 then
    hint(nil)
  else
    hint(M.busy())
  end
end

---@param id any
---@param opening claude-ide.ui.guard.Opening
local function open_in_time(id, opening)
  local busy = M.busy()
  if #order == 0 and not holds_up(opening, busy) and not must_leave(opening) then
    return opening.show(is_at_keys())
  end
  require("claude-ide.log").debug("%s waits: %s", id, busy and busy.reason or "others do")
  M.forget(id)
  require("claude-ide.ui.guard.keys").listen()
  openings[id], order[#order + 1] = opening, id
  hint(busy)
  require("claude-ide.ui.guard.waits").add(id, function()
    return why_not_now(opening)
  end, function()
    remove(id)
    opening.show(is_at_keys())
  end)
end

---Calls `show` as soon as the screen may change: at once, or when the user is back in normal mode and still.
---@param id any names the entry for `forget`
---@param name string of the file, for the user
---@param show fun(typed: boolean) typed: they were at the keys a moment ago, and may go on
---@param words? string what waits, where it is no diff
function M.when_free(id, name, show, words)
  open_in_time(id, { name = name, show = show, words = words })
end

---@class claude-ide.ui.guard.Request
---@field keys integer how many were pressed when it was asked for

---To be called when the user asks for something that opens later.
---@return claude-ide.ui.guard.Request
function M.ask()
  local keys = require("claude-ide.ui.guard.keys")
  keys.listen()
  return { keys = keys.count() }
end

---Whether the user has pressed no key since they asked.
---@param request claude-ide.ui.guard.Request
---@return boolean
local function still_waits(request)
  return require("claude-ide.ui.guard.keys").count() == request.keys
end

---Calls `show` where what the user asked for is a question, or takes the focus: at once, or in time if they have gone on to
---something else meanwhile.
---@param id any names the entry for `forget`
---@param words string what waits
---@param show fun()
---@param request claude-ide.ui.guard.Request
function M.when_asked(id, words, show, request)
  if still_waits(request) then
    show()
  else
    M.when_free(id, words, show, words)
  end
end

---Calls `show` as soon as no command has begun and no key was just pressed. What the user asked for comes at once, unless
---they have gone on to something else meanwhile.
---@param id any names the entry for `forget`
---@param show fun()
---@param request? claude-ide.ui.guard.Request
function M.when_still(id, show, request)
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

---Takes back what waits.
---@param id any
function M.forget(id)
  if openings[id] then
    remove(id)
  end
end

return M
