-- When the screen may change under the person's hands. A diff waits for that: nothing that is typed may go to it.
local M = {}

---So long after a key the hands count as still.
local QUIET_MS = 150

---After a line was sent to a program in a terminal: its answer may be a question that is typed at next.
local TERMINAL_QUIET_MS = 300

---How soon to look again where no event tells that it is over.
local LOOK_AGAIN_MS = 50

---@type { id: any, name: string, show: fun() }[]
local waiting = {}
local group ---@type integer?
local timer ---@type table? uv_timer_t

---@class claude-ide.ui.attention.Busy why the screen may not change now
---@field reason string for the log
---@field again_in? number milliseconds after which to look again; nil: an event will tell
---@field till? string what the person waits for, for the person; nil: it is over in a moment

---@return claude-ide.ui.attention.Busy? nil: the screen may change now
function M.busy()
  local mode = vim.api.nvim_get_mode()
  local keys = require("claude-ide.ui.typing")
  if mode.blocking then
    return { reason = "Neovim waits for a key", again_in = LOOK_AGAIN_MS }
  elseif vim.fn.getcmdwintype() ~= "" then
    return { reason = "the command-line window is open", till = "when this window is closed" }
  elseif vim.fn.reg_recording() ~= "" then
    return { reason = "a macro is recorded", till = "when the macro is recorded" }
  elseif vim.fn.reg_executing() ~= "" then
    return { reason = "a macro runs", again_in = LOOK_AGAIN_MS }
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
  elseif mode.mode:find("^[iR]") then
    return { reason = "mode " .. mode.mode, till = "when you leave insert mode" }
  elseif mode.mode ~= "n" and mode.mode ~= "nt" then
    return { reason = "mode " .. mode.mode, till = "when you are back in normal mode" }
  end
  -- Neovim is not at its top level, or what a key set off is not over: a plugin may ask for the next key, a script may sleep.
  if vim.fn.state("S") ~= "" or keys.is_within_key() then
    return { reason = "something runs", again_in = LOOK_AGAIN_MS }
  end
  local left = QUIET_MS - keys.quiet_for()
  return left > 0 and { reason = "a key was just pressed", again_in = left } or nil
end

---Says what waits, or takes the line away.
---@param busy? claude-ide.ui.attention.Busy
local function hint(busy)
  if not busy or not busy.till or #waiting == 0 then
    require("claude-ide.ui.hint").hide()
    return
  end
  local what = #waiting == 1 and "a change to " .. waiting[1].name or #waiting .. " changes"
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

---Shows what waits, if it may be shown now.
function M.look()
  if #waiting == 0 then
    return
  end
  local busy = M.busy()
  if busy then
    hint(busy)
    if busy.again_in then
      look_in(math.max(busy.again_in, 10))
    end
    return
  end
  local ready = waiting
  waiting = {}
  stop()
  for _, entry in ipairs(ready) do
    entry.show()
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
    desc = "Claude Code: a diff waits until nobody is typing",
    callback = function()
      if not (timer and timer:is_active()) then
        look_in(0)
      end
    end,
  })
end

---Calls `show` as soon as the screen may change: at once, or when the person is back in normal mode and still.
---@param id any names the entry for `forget`
---@param name string of the file, for the person
---@param show fun()
function M.when_free(id, name, show)
  local busy = M.busy()
  if not busy and #waiting == 0 then
    return show()
  end
  require("claude-ide.log").debug("diff %s waits: %s", id, busy and busy.reason or "others do")
  waiting[#waiting + 1] = { id = id, name = name, show = show }
  listen()
  hint(busy)
  local again_in = not busy and 0 or busy.again_in
  if again_in then
    look_in(again_in)
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
