-- Which of the plugin's buffers show a text of a file, such as a side of a diff, and where their lines are in the file as it is now.

local M = {}

---The file of some lines of a buffer, and the first one's line in the file now; nil: they are no file's, or the line is not known.
---@alias claude-ide.ui.FileOfLines fun(first: integer, last: integer): path: string?, lnum: integer?

---@type table<integer, claude-ide.ui.FileOfLines> by buffer
local sides = {}

---Buffers that show the text before a change.
---@type table<integer, true?>
local old = {}

---Wiping a buffer of ours emits no event.
local function forget_wiped()
  for buf in pairs(sides) do
    if not vim.api.nvim_buf_is_valid(buf) then
      sides[buf], old[buf] = nil, nil
    end
  end
end

---@param buf integer
---@param file_of claude-ide.ui.FileOfLines it may hold much, and goes with the buffer
---@param is_old? boolean the text is that before a change
function M.set(buf, file_of, is_old)
  forget_wiped()
  sides[buf], old[buf] = file_of, is_old or nil
  vim.api.nvim_buf_attach(buf, false, { on_detach = vim.schedule_wrap(forget_wiped) })
end

---@param buf integer
---@return boolean
function M.is(buf)
  return sides[buf] ~= nil
end

---@param buf integer
---@return boolean
function M.is_old(buf)
  return old[buf] == true
end

---@param buf integer
---@param one integer a line, from 1
---@param other integer one before or after it
---@return string? path absolute
---@return integer? lnum of the first one in the file
function M.at(buf, one, other)
  if not sides[buf] then
    return nil
  end
  return sides[buf](math.min(one, other), math.max(one, other))
end

return M
