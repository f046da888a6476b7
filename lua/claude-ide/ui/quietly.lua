-- Changing buffers and windows of ours so that nobody notices, and when they may be changed at all.
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

---How soon to look again whether buffers and windows may change.
local LOOK_AGAIN_MS = 50

---A buffer that does not exist.
local NO_BUFFER = 2147483647

---Whether buffers may not change now: an expression of a mapping waits for a key.
---@return boolean
local function is_locked()
  local _, err = pcall(vim.api.nvim_buf_delete, NO_BUFFER, {})
  return tostring(err):find("E565") ~= nil
end

---@param is_in_the_way fun(): boolean
---@param fn fun()
local function call_without(is_in_the_way, fn)
  if is_in_the_way() then
    vim.defer_fn(function()
      call_without(is_in_the_way, fn)
    end, LOOK_AGAIN_MS)
  else
    fn()
  end
end

---Calls a function as soon as buffers may change: at once, but for where an expression of a mapping waits for a key.
---@param fn fun()
function M.when_buffers_may_change(fn)
  call_without(is_locked, fn)
end

---Whether windows have to stay as they are: beside the command-line window, or where not even buffers may change.
---@return boolean
function M.windows_are_locked()
  return vim.fn.getcmdwintype() ~= "" or is_locked()
end

---@return string? why no window can be opened now, for the user; nil: one can
function M.why_locked()
  if vim.fn.getcmdwintype() ~= "" then
    return "Close the command-line window first."
  end
  return is_locked() and "No window can be opened now." or nil
end

---Calls a function as soon as windows may change.
---@param fn fun()
function M.when_windows_may_change(fn)
  call_without(M.windows_are_locked, fn)
end

return M
