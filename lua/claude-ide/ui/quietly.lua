-- Changes buffers and windows of ours without events.
local M = {}

---Runs `fn` with no autocommand of anybody.
---@generic T
---@param fn fun(): T
---@return T
function M.run(fn)
  return require("claude-ide.option").during("eventignore", "all", fn)
end

local passing_through = false

---A window of ours is being closed, at `WinClosed`: nobody is told of the one that Neovim goes to before we put the user back
---where they came from. Zen modes end when another window is entered.
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
