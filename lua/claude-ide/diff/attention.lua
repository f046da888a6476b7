-- When the screen may change under the person's hands. A diff waits for that: nothing that is typed may go to it.
local M = {}

---So long after a key the hands count as still.
local QUIET_MS = 150

---After a line was sent to a program in a terminal: its answer may be a question that is typed at next.
local TERMINAL_QUIET_MS = 300

---How soon to look again where no event tells that it is over.
local LOOK_AGAIN_MS = 50

---@type { id: any, show: fun() }[]
local waiting = {}
local group ---@type integer?
local timer ---@type table? uv_timer_t

---@return string? reason why not, in words for the person; nil: it may change now
---@return number? again_in milliseconds after which to look again; nil: when the mode changes
function M.busy()
  local mode = vim.api.nvim_get_mode()
  if mode.blocking then
    return "Neovim waits for a key", LOOK_AGAIN_MS
  elseif vim.fn.getcmdwintype() ~= "" then
    return "the command-line window is open"
  elseif vim.fn.reg_recording() ~= "" then
    return "you are recording a macro"
  elseif vim.fn.reg_executing() ~= "" then
    return "a macro runs", LOOK_AGAIN_MS
  end
  local keys = require("claude-ide.diff.keys")
  if mode.mode == "t" then
    if keys.has_draft(vim.api.nvim_get_current_buf()) then
      return "you are typing in the terminal", TERMINAL_QUIET_MS
    end
    local left = TERMINAL_QUIET_MS - keys.quiet_for()
    if left > 0 then
      return "you are typing in the terminal", left
    end
    return nil
  elseif mode.mode ~= "n" and mode.mode ~= "nt" then
    return "you are in the middle of something"
  end
  local left = QUIET_MS - keys.quiet_for()
  if left > 0 then
    return "you are typing", left
  end
  return nil
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
  require("claude-ide.diff.keys").detach("attention")
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
  local reason, again_in = M.busy()
  if reason then
    if again_in then
      look_in(math.max(again_in, 10))
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
  require("claude-ide.diff.keys").attach("attention")
  group = vim.api.nvim_create_augroup("claude-ide.diff.attention", { clear = true })
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
---@param show fun()
---@return string? reason why it waits
function M.when_free(id, show)
  local reason, again_in = M.busy()
  if not reason and #waiting == 0 then
    show()
    return nil
  end
  waiting[#waiting + 1] = { id = id, show = show }
  listen()
  if not reason then
    again_in = 0
  end
  if again_in then
    look_in(again_in)
  end
  return reason
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
  end
end

return M
