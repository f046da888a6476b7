-- Typeahead guard for windows that open unprompted.
-- Invariants: a key for one proposal, open or closed, decides no other. Typing that continues when a window opens decides nothing in it.
-- Keys queued during a stall of the event loop decide nothing in a window that opened just before.
local times = require("claude-ide.base.guard_times")
local lazy = require("claude-ide.lazy")
local guard_typing = lazy("claude-ide.ui.guard.typing")
local key = lazy("claude-ide.ui.key")
local notice = lazy("claude-ide.base.notice")
local redraw = lazy("claude-ide.base.redraw")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.guard.window")

---@class claude-ide.ui.guard.Window
---@field bufs integer[] its buffers
---@field is_proposal boolean accepts keys only once it is drawn
---@field at? number when it was drawn; nil: not yet
---@field key_at? number time of the last key that came too soon
---@field unread? "typing"|"decision" why keys are suspect: what the user did when it opened
---@field is_told? boolean the user knows that a key was not taken

---@type table<integer, claude-ide.ui.guard.Window> by buffer
local windows = {}
local decided_at = -math.huge ---@type number
local keys_at_decision = -1 ---@type integer number of keys typed until then

local timer ---@type uv.uv_timer_t?
local turned_at = 0 ---@type number last turn of the event loop

---@return number milliseconds
function M.now()
  return vim.uv.hrtime() / 1e6
end

---@param window claude-ide.ui.guard.Window
---@return number time from which it accepts keys
local function settled_at(window)
  local typing = window.unread == "typing"
  local opened = (window.at or math.huge) + (typing and times.unread or times.look)
  return math.max(opened, (window.key_at or -math.huge) + (typing and times.gap or times.look))
end

---Detects stalls of the event loop: the user has not seen a window that opened just before one. Runs on a timer while that matters,
---and before a key is judged, which may have been queued during a stall.
function M.check_stall()
  local turned = vim.uv.hrtime() / 1e6
  local stalled = timer and timer:is_active() and turned - turned_at or 0
  turned_at = turned
  local now = M.now()
  if stalled > times.stall and now - stalled - decided_at < times.next then
    decided_at = decided_at + stalled
  end
  local go_on = now - decided_at < times.next
  for _, window in pairs(windows) do
    if window.unread and window.at then
      if stalled > times.stall and now - stalled < settled_at(window) then
        window.at = now
      end
      go_on = go_on or now < settled_at(window)
    end
  end
  if timer and not go_on then
    timer:stop()
  end
end

local function watch_stalls()
  M.check_stall()
  timer = timer or assert(vim.uv.new_timer())
  if not timer:is_active() then
    turned_at = vim.uv.hrtime() / 1e6
    timer:start(times.stall_check, times.stall_check, M.check_stall)
  end
end

local function note_drawn(_, _, buf)
  local window = windows[buf]
  if window and not window.at then
    M.check_stall()
    window.at = M.now()
    if not window.unread and window.at - decided_at < times.next then
      window.unread = "decision"
    end
    if window.unread then
      watch_stalls()
    end
  end
  return false
end

local is_listening = false
local note_key ---@type fun(key: string, typed?: string)

local function listen()
  local is_needed = next(windows) ~= nil
  if is_needed ~= is_listening then
    is_listening = is_needed
    vim.on_key(is_needed and note_key or nil, namespace)
    redraw.on(namespace, "note what the user sees", is_needed and { on_win = note_drawn } or {})
  end
end

---@param buf integer any buffer of the window
function M.forget(buf)
  for _, one in ipairs((windows[buf] or { bufs = {} }).bufs) do
    windows[one] = nil
  end
  listen()
end

---@param _ string
---@param typed? string
function note_key(_, typed)
  local window = windows[vim.api.nvim_get_current_buf()]
  if not window or window.unread ~= "typing" or typed == "" then
    return
  end
  M.check_stall()
  local now = M.now()
  if now >= settled_at(window) then
    window.unread = nil
    if not window.is_proposal then
      M.forget(window.bufs[1])
    end
  else
    window.key_at = now
  end
end

---@param bufs integer[]
---@param window claude-ide.ui.guard.Window
local function add(bufs, window)
  for _, buf in ipairs(bufs) do
    M.forget(buf)
  end
  for _, buf in ipairs(bufs) do
    windows[buf] = window
  end
  listen()
end

---A window opened unprompted, or now asks another question.
---@param bufs integer|integer[] its buffers
function M.opened(bufs)
  local list = type(bufs) == "table" and bufs or { bufs }
  local window = { bufs = list, is_proposal = false, at = M.now(), unread = "typing" } ---@type claude-ide.ui.guard.Window
  for _, buf in ipairs(list) do
    if windows[buf] and windows[buf].is_proposal then
      window.is_proposal, window.at = true, windows[buf].at and window.at
    end
  end
  add(list, window)
  watch_stalls()
end

---A proposal is about to be shown.
---@param buf integer whose drawing counts
function M.proposal_opens(buf)
  local before = windows[buf]
  local is_unread = before and before.unread == "typing" and M.now() < settled_at(before)
  local bufs = is_unread and before.bufs or { buf }
  add(bufs, { bufs = bufs, is_proposal = true, unread = is_unread and "typing" or nil })
end

---A proposal opened while the user may have been typing (`<Esc>`, then `:w`): their next keys are not for it.
---@param bufs integer[] its buffers
function M.proposal_opened_while_typing(bufs)
  if M.now() - decided_at >= times.typing then -- else those keys were for the previous proposal
    M.opened(bufs)
  end
end

---The window shows another buffer now, which shares its guard.
---@param buf integer
---@param other integer a previous buffer
function M.join(buf, other)
  local window = windows[other]
  if window and window.unread == "typing" then
    window.bufs[#window.bufs + 1] = buf
    windows[buf] = window
  end
end

---A proposal was decided: the next keys may still be for it.
function M.decided()
  watch_stalls()
  decided_at, keys_at_decision = M.now(), guard_typing.count()
end

---Whether the user has typed since the last decision, which itself may have been keys.
---@return boolean
function M.has_typed_since_decision()
  return guard_typing.count() ~= keys_at_decision
end

---Whether the user can have seen a proposal; one that was not seen can only be decided by its id.
---@param buf integer
---@return boolean
function M.is_seen(buf)
  local window = windows[buf]
  if not window or not window.is_proposal then
    return false
  elseif #vim.api.nvim_list_uis() == 0 then
    return true -- nothing is drawn
  elseif not window.at then
    return false
  end
  if window.unread == "decision" and M.now() >= settled_at(window) then
    window.unread = nil
  end
  return window.unread ~= "decision"
end

---Whether the current key comes too soon after the window opened while the user was typing.
---@param buf integer
---@return boolean
function M.is_typed_ahead(buf)
  local window = windows[buf]
  return window ~= nil and window.unread == "typing"
end

---Whether the current key is meant for this buffer's window.
---@param buf integer
---@return boolean
function M.accepts_key(buf)
  local window = windows[buf]
  if not window then
    return true
  end
  M.check_stall()
  local accepts = not M.is_typed_ahead(buf) and (not window.is_proposal or M.is_seen(buf))
  if not accepts and window.unread ~= "typing" then
    window.key_at = M.now()
  end
  return accepts
end

---Tells the user that a key was not taken, once for a window that opened while they typed.
---@param buf integer
function M.say_too_soon(buf)
  local window = windows[buf]
  if window and window.unread == "typing" and not window.is_told then
    window.is_told = true
    notice.info("Press it again: the window had only just opened.")
  end
end

---Maps keys in a buffer whose window may open unprompted: they act only where they are meant for it.
---@param buf integer
---@param keys string[]
---@param desc string
---@param run fun(lhs: string)
function M.map(buf, keys, desc, run)
  for _, lhs in ipairs(keys) do
    key.map(buf, lhs, desc, function()
      if M.accepts_key(buf) then
        run(lhs)
      else
        M.say_too_soon(buf)
      end
    end)
  end
end

---Whether an accept or reject key is meant for a proposal.
---@param buf integer as given to `proposal_opens`
---@return boolean
function M.proposal_accepts_key(buf)
  return windows[buf] ~= nil and M.accepts_key(buf)
end

return M
