-- Whether all of what a window asks about was in sight. What may be harmful is allowed only then: a key that allows it goes on
-- reading before.
local M = {}

local GROUP = "claude-ide.ui.read_through"

---@class claude-ide.ui.Reading
---@field last integer the last line of what is asked about
---@field is_seen boolean it was in sight

---@type table<integer, claude-ide.ui.Reading> by window
local readings = {}

local function look(win)
  local reading = readings[win]
  if reading and not reading.is_seen then
    reading.is_seen = vim.fn.line("w$", win) >= reading.last
  end
end

---A window shows something to be approved, or another text of it.
---@param win integer
---@param last integer the last line of what is asked about
function M.note(win, last)
  readings[win] = { last = last, is_seen = false }
  local group = vim.api.nvim_create_augroup(GROUP, { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, pattern = tostring(win) })
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinClosed" }, {
    group = group,
    pattern = tostring(win),
    desc = "Claude Code: how far something to be approved was read",
    callback = function(event)
      if event.event == "WinClosed" then
        readings[win] = nil
        return true
      end
      look(win)
    end,
  })
end

---Whether a key in the current window may allow what it asks about; else it goes on to what is below.
---@return boolean
function M.may_allow()
  local win = vim.api.nvim_get_current_win()
  look(win)
  local reading = readings[win]
  if not reading or reading.is_seen then
    return true
  end
  vim.cmd("normal! \6")
  require("claude-ide.ui.guard.window").opened(vim.api.nvim_win_get_buf(win))
  require("claude-ide.ui.notice").info("There was more to read. It is allowed from its end on.")
  return false
end

return M
