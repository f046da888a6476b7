-- When the screen may change under the user's hands: nothing that is typed may go to what opens then.
-- A diff waits until it can be answered (`when_free`). A file or a document waits only for what is over in a moment
-- (`when_still`): in insert mode it opens beside, and leaves the focus where it is.
local M = {}

---So long after a key the hands count as still.
local QUIET_MS = 150

---After a line was sent to a program in a terminal: its answer may be a question that is typed at next.
local TERMINAL_QUIET_MS = 300

---So long without a key in a prompt that is being written is a pause there; an empty one is one anyway.
local PROMPT_QUIET_MS = 1000

---How soon to look again where no event tells that it is over.
local LOOK_AGAIN_MS = 50

---@class claude-ide.ui.attention.Entry
---@field id any
---@field show fun(typed: boolean) typed: the user was at the keys a moment ago, and may go on
---@field name? string of the file that a diff waits for; nil: no diff, it waits only for what is over in a moment
---@field words? string what waits, where it is no diff: "Claude wants to run code"

---So long after a key the hands may go on with what they do, whatever comes on the screen.
local AT_KEYS_MS = 1000

---@type claude-ide.ui.attention.Entry[]
local waiting = {}

---What the user asked for and what is not there yet. Weak: what came to nothing is not to be told.
---@type table<claude-ide.ui.attention.Asked, true>
local asked = setmetatable({}, { __mode = "k" })

local group ---@type integer?
local timer ---@type table? uv_timer_t

---@class claude-ide.ui.attention.Busy why the screen may not change now
---@field reason string for the log
---@field again_in? number milliseconds after which to look again; nil: an event will tell
---@field till? string what the user waits for, for the user; nil: it is over in a moment
---@field passing? boolean over in a moment, whatever `till` says

---What the user is in the middle of, as far as Neovim's state tells; what is typed in a terminal apart.
---@param mode { mode: string, blocking: boolean }
---@return claude-ide.ui.attention.Busy?
local function begun(mode)
  if mode.blocking then
    return { reason = "Neovim waits for a key", again_in = LOOK_AGAIN_MS }
  elseif require("claude-ide.ui.choose").is_open() then
    return { reason = "a list is open", again_in = LOOK_AGAIN_MS, till = "when you have chosen" }
  elseif vim.fn.getcmdwintype() ~= "" then
    return { reason = "the command-line window is open", till = "when this window is closed" }
  elseif vim.fn.reg_recording() ~= "" then
    return { reason = "a macro is recorded", till = "when the macro is recorded" }
  elseif vim.fn.reg_executing() ~= "" then
    return { reason = "a macro runs", again_in = LOOK_AGAIN_MS }
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
  return (is_empty and QUIET_MS or PROMPT_QUIET_MS) - require("claude-ide.ui.typing").quiet_for()
end

---@return claude-ide.ui.attention.Busy? nil: the screen may change now, in insert mode once that is left (`leave_prompt`)
function M.busy()
  local mode = vim.api.nvim_get_mode()
  local keys = require("claude-ide.ui.typing")
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
        again_in = TERMINAL_QUIET_MS,
        till = "when you have sent this line",
      }
    end
    local left = TERMINAL_QUIET_MS - keys.quiet_for()
    return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
  end
  -- Neovim is not at its top level, or what a key set off is not over: a plugin may ask for the next key, a script may sleep.
  if vim.fn.state("S") ~= "" or keys.is_within_key() then
    return { reason = "something runs", again_in = LOOK_AGAIN_MS }
  end
  local left = QUIET_MS - keys.quiet_for()
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
---@return boolean
local function is_at_keys()
  return vim.api.nvim_get_mode().mode ~= "t" and require("claude-ide.ui.typing").quiet_for() < AT_KEYS_MS
end

---Whether this is enough to keep something waiting.
---@param entry claude-ide.ui.attention.Entry
---@param busy? claude-ide.ui.attention.Busy
---@return boolean
local function holds_up(entry, busy)
  return busy ~= nil and (entry.name ~= nil or busy.passing == true or not busy.till)
end

---Says which diffs wait, or takes the line away.
---@param busy? claude-ide.ui.attention.Busy
local function hint(busy)
  local names, other = {}, nil ---@type string[], string?
  for _, entry in ipairs(waiting) do
    other = other or entry.words
    names[#names + 1] = not entry.words and entry.name or nil
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

local function stop()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  require("claude-ide.ui.typing").detach("attention")
  hint(nil)
end

---@param delay number milliseconds
local function look_in(delay)
  timer = timer or assert(vim.uv.new_timer())
  timer:start(
    math.ceil(delay),
    0,
    vim.schedule_wrap(function()
      M.look()
    end)
  )
end

---Takes somebody who writes to Claude out of insert mode, for a question to be answered; they go on writing when they come back.
local function leave_prompt()
  local buf, at_end = vim.api.nvim_get_current_buf(), vim.fn.col(".") >= vim.fn.col("$")
  vim.cmd.stopinsert()
  local was_away = false
  -- Not when the buffer is entered: a diff that ends goes back without a word.
  vim.api.nvim_create_autocmd("SafeState", {
    group = vim.api.nvim_create_augroup("claude-ide.ui.attention.prompt", { clear = true }),
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

---Whether something that takes the keys comes where a prompt is being written: insert mode is left before.
---@param entries claude-ide.ui.attention.Entry[] that may be shown
---@return boolean
local function must_leave(entries)
  return until_pause(vim.api.nvim_get_mode().mode) ~= nil
    and vim.iter(entries):any(function(entry)
      return entry.name ~= nil
    end)
end

---Shows what waits, if it may be shown now.
function M.look()
  if #waiting == 0 then
    return
  end
  local busy = M.busy()
  local typed = is_at_keys() -- before `stop` forgets it
  local ready, rest = {}, {} ---@type claude-ide.ui.attention.Entry[], claude-ide.ui.attention.Entry[]
  for _, entry in ipairs(waiting) do
    local list = holds_up(entry, busy) and rest or ready
    list[#list + 1] = entry
  end
  if must_leave(ready) then
    leave_prompt()
    return look_in(0)
  end
  waiting = rest
  if #rest == 0 then
    stop()
  else
    hint(busy)
    if busy and busy.again_in then
      look_in(math.max(busy.again_in, 10))
    end
  end
  for _, entry in ipairs(ready) do
    require("claude-ide.safely").wrap("show what waited", entry.show)(typed)
  end
end

local function listen()
  if group then
    return
  end
  require("claude-ide.ui.typing").attach("attention")
  group = vim.api.nvim_create_augroup("claude-ide.ui.attention", { clear = true })
  vim.api.nvim_create_autocmd({ "ModeChanged", "CmdwinLeave", "RecordingLeave" }, {
    group = group,
    desc = "Claude Code: what opens waits until nobody is typing",
    callback = function()
      if not (timer and timer:is_active()) then
        look_in(0)
      end
    end,
  })
end

---@param entry claude-ide.ui.attention.Entry
local function show_in_time(entry)
  local busy = M.busy()
  if #waiting == 0 and not holds_up(entry, busy) and not must_leave({ entry }) then
    return entry.show(is_at_keys())
  end
  require("claude-ide.log").debug("%s waits: %s", entry.id, busy and busy.reason or "others do")
  waiting[#waiting + 1] = entry
  listen()
  hint(busy)
  local again_in = not holds_up(entry, busy) and 0 or busy and busy.again_in
  if again_in then
    look_in(again_in)
  end
end

---Calls `show` as soon as the screen may change: at once, or when the user is back in normal mode and still.
---@param id any names the entry for `forget`
---@param name string of the file, for the user
---@param show fun(typed: boolean) typed: they were at the keys a moment ago, and may go on
---@param words? string what waits, where it is no diff
function M.when_free(id, name, show, words)
  show_in_time({ id = id, name = name, show = show, words = words })
end

---@class claude-ide.ui.attention.Asked
---@field keys integer how many were pressed when it was asked for

---To be called when the user asks for something that opens later.
---@return claude-ide.ui.attention.Asked
function M.ask()
  local keys = require("claude-ide.ui.typing")
  keys.attach("asked")
  local request = { keys = keys.count() }
  asked[request] = true
  return request
end

---Whether the user has pressed no key since they asked.
---@param request claude-ide.ui.attention.Asked that is answered by this
---@return boolean
local function still_waits(request)
  local keys = require("claude-ide.ui.typing")
  local pressed = keys.count() ~= request.keys
  asked[request] = nil
  if not next(asked) then
    keys.detach("asked")
  end
  return not pressed
end

---Calls `show` where what the user asked for is a question, or takes the focus: at once, or in time if they have gone on to
---something else meanwhile.
---@param id any names the entry for `forget`
---@param words string what waits
---@param show fun()
---@param request claude-ide.ui.attention.Asked
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
---@param request? claude-ide.ui.attention.Asked
function M.when_still(id, show, request)
  if request and still_waits(request) then
    show()
  else
    show_in_time({ id = id, show = show })
  end
end

---@param id any
---@return boolean
function M.is_waiting(id)
  return vim.iter(waiting):any(function(entry)
    return entry.id == id
  end)
end

---Takes an entry out again.
---@param id any
function M.forget(id)
  for i, entry in ipairs(waiting) do
    if entry.id == id then
      table.remove(waiting, i)
      break
    end
  end
  if #waiting == 0 then
    stop()
  else
    hint(M.busy())
  end
end

return M
