-- What comes on the screen by itself and has keys that decide: whether a key is meant for it.
-- Invariant: what somebody goes on typing, who has not seen it yet, decides nothing there. While Neovim stands still nobody sees
-- anything.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.came")

---Hands that are typing stop no sooner after something has come.
M.GRACE_MS = 600
---Keys that follow one another sooner are typed without looking.
M.GAP_MS = 300

---@class claude-ide.ui.Came
---@field at number
---@field key_at? number
---@field bufs integer[] it has

---@type table<integer, claude-ide.ui.Came> by buffer: those that no key is meant for yet
local unseen = {}

---@return number milliseconds
function M.now()
  return vim.uv.hrtime() / 1e6
end

---@param stood_ms number
---@return boolean go_on
local function note_turn(stood_ms)
  local now, go_on = M.now(), false
  for _, it in pairs(unseen) do
    if stood_ms > 0 and now - stood_ms - it.at < M.GRACE_MS then
      it.at = now
    end
    go_on = go_on or now - it.at < M.GRACE_MS
  end
  return go_on
end

---@param _ string
---@param typed? string
local function note_key(_, typed)
  require("claude-ide.ui.standstill").look()
  local buf = vim.api.nvim_get_current_buf()
  local it, now = unseen[buf], M.now()
  if not it or typed == "" then
    return
  elseif now - it.at >= M.GRACE_MS and (not it.key_at or now - it.key_at >= M.GAP_MS) then
    M.forget(buf)
  else
    it.key_at = now
  end
end

---It comes on the screen now, or what it asks is another question now.
---@param bufs integer|integer[]
function M.note(bufs)
  if not next(unseen) then
    vim.on_key(note_key, namespace)
  end
  local it = { at = M.now(), bufs = type(bufs) == "table" and bufs or { bufs } } ---@type claude-ide.ui.Came
  for _, buf in ipairs(it.bufs) do
    unseen[buf] = it
  end
  require("claude-ide.ui.standstill").watch("came", note_turn)
end

---What has come has another buffer now: a key there is a key for it.
---@param buf integer
---@param other integer one that it had before
function M.join(buf, other)
  local it = unseen[other]
  if it then
    it.bufs[#it.bufs + 1] = buf
    unseen[buf] = it
  end
end

---@param buf integer one of its buffers
function M.forget(buf)
  for _, one in ipairs((unseen[buf] or { bufs = {} }).bufs) do
    unseen[one] = nil
  end
  if not next(unseen) then
    vim.on_key(nil, namespace)
  end
end

---Whether the key that is being acted upon is meant for it.
---@param buf integer
---@return boolean
function M.takes_key(buf)
  return unseen[buf] == nil
end

return M
