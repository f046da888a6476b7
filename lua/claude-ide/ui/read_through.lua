-- Tracks whether a text to be approved was scrolled through. Until then a key that allows it scrolls on.
local M = {}

local GROUP = "claude-ide.ui.read_through"

---@class claude-ide.ui.Reading
---@field last integer last line of the text
---@field is_seen boolean that line was visible

---@type table<integer, claude-ide.ui.Reading> by window
local readings = {}

local function look(win)
  local reading = readings[win]
  if reading and not reading.is_seen then
    reading.is_seen = vim.fn.line("w$", win) >= reading.last
  end
end

---A window shows a text to be approved, or a new one.
---@param win integer
---@param last integer last line of the text
function M.note(win, last)
  readings[win] = { last = last, is_seen = false }
  local group = vim.api.nvim_create_augroup(GROUP, { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, pattern = tostring(win) })
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinClosed" }, {
    group = group,
    pattern = tostring(win),
    desc = "Claude Code: how far a text to be approved was read",
    callback = function(event)
      if event.event == "WinClosed" then
        readings[win] = nil
        return true
      end
      look(win)
    end,
  })
end

---Whether a key in the current window may allow; otherwise it scrolls down.
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
