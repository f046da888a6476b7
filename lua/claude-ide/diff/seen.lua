-- Whether the person can have seen a diff that is to be decided: Neovim has drawn it, and long enough ago.
-- Invariant: a key that was pressed for one diff, or for one that has vanished, decides no other.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diff.seen")

---Nobody's hands answer sooner to what comes on the screen.
local LOOK_MS = 250

---A diff that comes so soon after a decision may get a key that was meant for the one before.
local RUSH_MS = 600

---@class claude-ide.diff.Sight
---@field drawn_at? number `vim.uv.now()` when it came on the screen
---@field in_rush? boolean it came right after a decision
---@field key_at? number of the last key that came too soon

---@type table<integer, claude-ide.diff.Sight> by buffer of the proposal
local sights = {}
local last_decision = -math.huge ---@type number

---Watches for a diff to be drawn, from now on.
---@param buf integer of the proposal
function M.watch(buf)
  if not next(sights) then
    vim.api.nvim_set_decoration_provider(namespace, {
      on_win = function(_, _, drawn)
        local sight = sights[drawn]
        if sight and not sight.drawn_at then
          sight.drawn_at = vim.uv.now()
          sight.in_rush = sight.drawn_at - last_decision < RUSH_MS
        end
        return false
      end,
    })
  end
  sights[buf] = {}
end

---It came by itself, in a pause of somebody who types (`<Esc>`, and then `:w`): their next keys are not for it.
---@param bufs table<any, integer>
function M.came_under_hands(bufs)
  if vim.uv.now() - last_decision < 2 * RUSH_MS then
    return -- these keys were for the diff before: `in_rush`
  end
  require("claude-ide.ui.came").note(vim.tbl_values(bufs))
end

---@param buf integer
function M.forget(buf)
  sights[buf] = nil
  require("claude-ide.ui.came").forget(buf)
  if not next(sights) then
    vim.api.nvim_set_decoration_provider(namespace, {})
  end
end

---A diff has ended: what the hands do next may still be for that one.
function M.note_decision()
  last_decision = vim.uv.now()
end

---Whether it may be decided without being named.
---@param buf integer of the proposal
---@return boolean
function M.is_seen(buf)
  local sight = sights[buf]
  if not sight then
    return false
  elseif #vim.api.nvim_list_uis() == 0 then
    return true -- Nothing is drawn for anybody.
  elseif not sight.drawn_at then
    return false
  end
  local since = math.max(sight.drawn_at, sight.key_at or 0)
  return not sight.in_rush or vim.uv.now() - since >= LOOK_MS
end

---As `is_seen`, for a key: one that comes too soon is not the last one of those that are.
---@param buf integer of the proposal
---@return boolean
function M.takes_key(buf)
  local seen = M.is_seen(buf) and require("claude-ide.ui.came").takes_key(buf)
  if not seen and sights[buf] then
    sights[buf].key_at = vim.uv.now()
  end
  return seen
end

return M
