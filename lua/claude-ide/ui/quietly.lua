-- Changes buffers and windows without events.
local lazy = require("claude-ide.lazy")
local option = lazy("claude-ide.base.option")

local M = {}

---Runs `fn` with all events ignored.
---@generic T
---@param fn fun(): T
---@return T
function M.run(fn)
  return option.during("eventignore", "all", fn)
end

local passing_through = false

---Call at `WinClosed` of one of our windows: suppresses `WinEnter` for the window that Neovim enters next, before the user is put
---back. A zen mode ends when another window is entered.
---@param win integer
function M.pass_through(win)
  local ignored = vim.opt.eventignore:get() --[[@as string[] ]]
  local is_told = not vim.list_contains(ignored, "WinEnter")
  if passing_through or not is_told or win ~= vim.api.nvim_get_current_win() then
    return
  end
  passing_through = true
  vim.opt.eventignore:append("WinEnter")
  vim.schedule(function()
    passing_through = false
    vim.opt.eventignore:remove("WinEnter")
  end)
end

return M
