-- A session that the user writes while windows of ours are open. For a buffer without a file Neovim writes `enew` and `file NAME`, which
-- fails (E95) where a loaded buffer has the name: in a second window of it, or in the Neovim that wrote the session. For a file it writes
-- a line that takes the buffer there is; ours get that line, too.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")

local M = {}

---How a session may call a buffer.
---@param buf integer
---@return string[]
local function names_of(buf)
  local full, short = vim.api.nvim_buf_get_name(buf), vim.fn.bufname(buf)
  return {
    vim.fn.fnameescape(short),
    vim.fn.fnameescape(full),
    vim.fn.fnameescape(vim.fn.fnamemodify(full, ":~")),
  }
end

---@return table<string, true> escaped
local function names_of_ours()
  local names = {} ---@type table<string, true>
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buffer_marks.kind(buf) and vim.api.nvim_buf_get_name(buf) ~= "" then
      for _, name in ipairs(names_of(buf)) do
        names[name] = true
      end
    end
  end
  return names
end

---@param lines string[] of a session
---@param names table<string, true>
---@return string[]
local function without_conflicts(lines, names)
  local result = {} ---@type string[]
  for _, line in ipairs(lines) do
    local command, name = line:match("^(%a+) (.*)$")
    local is_ours = names[name] == true
    if is_ours and command == "file" and result[#result] == "enew" then
      local take = 'if bufexists(fnamemodify("%s", ":p")) | buffer %s | else | edit %s | endif'
      result[#result] = take:format(name, name, name)
    elseif not is_ours or command ~= "balt" then -- that would list the buffer
      result[#result + 1] = line
    end
  end
  return result
end

---Call when a session was written.
function M.make_loadable()
  local path, names = vim.v.this_session, names_of_ours()
  local is_read, lines = pcall(vim.fn.readfile, path)
  if not is_read or not next(names) then
    return
  end
  local changed = without_conflicts(lines, names)
  if not vim.deep_equal(lines, changed) then
    vim.fn.writefile(changed, path)
  end
end

return M
