-- Keeps the focus where the user asked for it. Zen modes end when another window is entered, and as they end they go to a window
-- of theirs: what the user types next would change their file.
local M = {}

---How long to look after it: zen-mode.nvim ends 10 ms after another window was entered.
local GRACE_MS = 100

---@class claude-ide.ui.Focus
---@field is_there fun(): boolean
---@field enter fun()

---@type table<string, claude-ide.ui.Focus> by name
local kept = {}

---Enters a place once more if the focus is taken from it, by no key, right after it was entered. To be called before its windows
---open or are entered: what plugins schedule then runs between the two looks.
---A caller that goes on to another window, and a user who leaves by a key, stay there.
---@param name string
---@param focus claude-ide.ui.Focus
function M.keep(name, focus)
  if kept[name] then
    kept[name] = focus
    return
  end
  kept[name] = focus
  local keys = require("claude-ide.ui.guard.keys")
  local came_from, has_left = vim.api.nvim_get_current_win(), false
  local group = vim.api.nvim_create_augroup("claude-ide.ui.focus " .. name, { clear = true })
  local function enter_again()
    if not has_left and not kept[name].is_there() then
      kept[name].enter()
    end
  end
  keys.listen()
  vim.api.nvim_create_autocmd("WinLeave", {
    group = group,
    callback = function()
      if not kept[name].is_there() then
        return
      elseif keys.caused_this("ui/focus.lua") then
        has_left = true
      elseif not vim.api.nvim_win_is_valid(came_from) then
        vim.schedule(enter_again) -- the window that has gone was a zen mode's
      end
    end,
    desc = "Claude Code: notice that the focus is taken",
  })
  vim.schedule(function()
    has_left = has_left or not kept[name].is_there()
    vim.schedule(function()
      if vim.api.nvim_get_current_win() == came_from then
        enter_again()
      end
      vim.defer_fn(function()
        kept[name] = nil
        vim.api.nvim_del_augroup_by_id(group)
      end, GRACE_MS)
    end)
  end)
end

return M
