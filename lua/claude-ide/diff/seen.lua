-- Whether the user can have seen a diff that is to be decided: Neovim has drawn it, and long enough ago.
-- Invariant: a key that was pressed for one diff, or for one that has vanished, decides no other.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diff.seen")

---Nobody's hands answer sooner to what comes on the screen.
local LOOK_MS = 250

---A diff that comes so soon after a decision may get a key that was meant for the one before.
local RUSH_MS = 600

---@class claude-ide.diff.Sight
---@field drawn_at? number `vim.uv.now()` when it came on the screen
---@field in_rush? boolean it came right after a decision, and was not looked at for long enough
---@field key_at? number of the last key that came too soon

---@type table<integer, claude-ide.diff.Sight> by buffer of the proposal
local sights = {}
local last_decision = -math.huge ---@type number

---@param sight claude-ide.diff.Sight
---@return boolean
local function was_looked_at(sight)
  return vim.uv.now() - math.max(sight.drawn_at or 0, sight.key_at or 0) >= LOOK_MS
end

---Where Neovim stood still, its screen was not seen, and keys were pressed for what was there before.
---@param stood_ms number
---@return boolean go_on
local function note_turn(stood_ms)
  local now = vim.uv.now()
  if stood_ms > 0 and now - stood_ms - last_decision < RUSH_MS then
    last_decision = last_decision + stood_ms
  end
  local go_on = now - last_decision < RUSH_MS
  for _, sight in pairs(sights) do
    if sight.in_rush and stood_ms > 0 then
      sight.drawn_at = now
    end
    go_on = go_on or sight.in_rush and not was_looked_at(sight) or false
  end
  return go_on
end

---Watches for a diff to be drawn, from now on.
---@param buf integer of the proposal
function M.watch(buf)
  if not next(sights) then
    vim.api.nvim_set_decoration_provider(namespace, {
      on_win = function(_, _, drawn)
        local sight = sights[drawn]
        if sight and not sight.drawn_at then
          vim.uv.update_time() -- what came before may have taken its time
          require("claude-ide.ui.standstill").look()
          sight.drawn_at = vim.uv.now()
          sight.in_rush = sight.drawn_at - last_decision < RUSH_MS
          if sight.in_rush then
            require("claude-ide.ui.standstill").watch("seen", note_turn)
          end
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
  require("claude-ide.ui.standstill").watch("seen", note_turn)
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
  if sight.in_rush and was_looked_at(sight) then
    sight.in_rush = nil
  end
  return not sight.in_rush
end

---As `is_seen`, for a key: one that comes too soon is not the last one of those that are.
---@param buf integer of the proposal
---@return boolean
function M.takes_key(buf)
  require("claude-ide.ui.standstill").look()
  local seen = M.is_seen(buf) and require("claude-ide.ui.came").takes_key(buf)
  if not seen and sights[buf] then
    sights[buf].key_at = vim.uv.now()
  end
  return seen
end

return M
