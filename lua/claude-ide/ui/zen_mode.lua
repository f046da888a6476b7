-- Keeps the focus on windows that the user asked for. A zen mode ends when another window is entered, and then enters a window of
-- its own, where the user's next keys would change a file.
local lazy = require("claude-ide.lazy")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Grace period: zen-mode.nvim ends 10 ms after another window was entered.
local GRACE_MS = 100

---@class claude-ide.ui.Focus
---@field is_there fun(): boolean
---@field enter fun()

---@type table<string, claude-ide.ui.Focus> by name
local kept = {}

---Enters a place again when the focus is taken from it right after, and not by a key. Call it before the windows open: functions
---that plugins schedule then run between the two checks. Focus that moved by a later call or a key stays.
---@param name string
---@param focus claude-ide.ui.Focus
function M.keep(name, focus)
  if kept[name] then
    kept[name] = focus
    return
  end
  kept[name] = focus
  local came_from, has_left = vim.api.nvim_get_current_win(), false
  local group = vim.api.nvim_create_augroup("claude-ide.ui.zen_mode " .. name, { clear = true })
  ---@param wanted claude-ide.ui.Focus
  local function enter_again(wanted)
    if not has_left and not wanted.is_there() then
      wanted.enter()
    end
  end
  typing.listen()
  vim.api.nvim_create_autocmd("WinLeave", {
    group = group,
    callback = function()
      local wanted = kept[name]
      if not wanted.is_there() then
        return
      elseif typing.caused_this() then
        has_left = true
      elseif not vim.api.nvim_win_is_valid(came_from) then
        vim.schedule(function() -- the window that has gone was a zen mode's
          enter_again(wanted)
        end)
      end
    end,
    desc = "Claude Code: notice that the focus is taken",
  })
  vim.schedule(function()
    has_left = has_left or not kept[name].is_there()
    vim.schedule(function()
      if vim.api.nvim_get_current_win() == came_from then
        enter_again(kept[name])
      end
      vim.defer_fn(function()
        kept[name] = nil
        vim.api.nvim_del_augroup_by_id(group)
      end, GRACE_MS)
    end)
  end)
end

return M
