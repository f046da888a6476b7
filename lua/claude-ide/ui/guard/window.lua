-- Typeahead guard for windows that open unprompted: whether a key is meant for one.
-- Invariants: a key pressed for one proposal, or for one that has closed, decides no other. What a user goes on typing when a
-- window opens decides nothing in it. Keys queued while Neovim's event loop stalled decide nothing in what opened just before.
local M = {}

local times = require("claude-ide.ui.guard.times")
local namespace = vim.api.nvim_create_namespace("claude-ide.ui.guard.window")

---@class claude-ide.ui.guard.Window
---@field bufs integer[] that it has
---@field is_proposal boolean decides only once it is drawn
---@field at? number when it came on the screen; nil: it is not drawn yet
---@field key_at? number of the last key that came too soon
---@field unread? "typing"|"decision" why keys may not be meant for it: what the user was doing when it opened

---@type table<integer, claude-ide.ui.guard.Window> by buffer
local windows = {}
local decided_at = -math.huge ---@type number

local timer ---@type uv.uv_timer_t?
local turned_at = 0 ---@type number when the event loop turned last

---@return number milliseconds
function M.now()
  return vim.uv.hrtime() / 1e6
end

---@param window claude-ide.ui.guard.Window
---@return number from when on a key is meant for it
local function settled_at(window)
  local typing = window.unread == "typing"
  local opened = (window.at or math.huge) + (typing and times.unread or times.look)
  return math.max(opened, (window.key_at or -math.huge) + (typing and times.gap or times.look))
end

---Whether the event loop has stalled since the last look: then what opened just before was seen by nobody. Goes on by itself while
---that matters, and is called before a key is judged, which may have been queued during a stall.
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
    vim.api.nvim_set_decoration_provider(namespace, is_needed and { on_win = note_drawn } or {})
  end
end

---@param buf integer one of its buffers
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
---@param window claude-ide.ui.guard.Window of these buffers
local function add(bufs, window)
  for _, buf in ipairs(bufs) do
    M.forget(buf)
  end
  for _, buf in ipairs(bufs) do
    windows[buf] = window
  end
  listen()
end

---A window came on the screen by itself, or what it asks is another question now.
---@param bufs integer|integer[] that it has
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
---@param buf integer that tells whether it was drawn
function M.proposal_opens(buf)
  local before = windows[buf]
  local is_unread = before and before.unread == "typing" and M.now() < settled_at(before)
  local bufs = is_unread and before.bufs or { buf }
  add(bufs, { bufs = bufs, is_proposal = true, unread = is_unread and "typing" or nil })
end

---A proposal opened while the user may have been typing (`<Esc>`, and then `:w`): their next keys are not for it.
---@param bufs integer[] that it has
function M.proposal_opened_while_typing(bufs)
  if M.now() - decided_at >= times.typing then -- else those keys were for the proposal before
    M.opened(bufs)
  end
end

---The window has another buffer now: a key there is a key for it.
---@param buf integer
---@param other integer one that it had before
function M.join(buf, other)
  local window = windows[other]
  if window and window.unread == "typing" then
    window.bufs[#window.bufs + 1] = buf
    windows[buf] = window
  end
end

---A proposal was decided on: the next keys may still be for that one.
function M.decided()
  watch_stalls()
  decided_at = M.now()
end

---Whether the user can have seen a proposal, so that it may be decided without being named.
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

---Whether the key that is being acted upon is too soon for a user who was typing when the window opened.
---@param buf integer
---@return boolean
function M.is_typed_ahead(buf)
  local window = windows[buf]
  return window ~= nil and window.unread == "typing"
end

---Whether the key that is being acted upon is meant for the window of this buffer.
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

---Whether a key that decides on a proposal is meant for it.
---@param buf integer of `proposal_opens`
---@return boolean
function M.proposal_accepts_key(buf)
  return windows[buf] ~= nil and M.accepts_key(buf)
end

return M
