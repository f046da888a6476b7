-- telescope.nvim, from its prompt: in a map of it (`<Cmd>ClaudeSend<CR>`) or in normal mode. Read at 7d32479 (2026-05-15):
-- `telescope.actions.state` gives the picker of a prompt's buffer and the entry that is selected; a picker gives the marked
-- ones; `telescope.from_entry.path(entry, validate, escape)` gives an entry's file. `lnum` counts here only where the entry is
-- a line of a file (it has a `text`): buffers have one too.
local M = {}

---@return claude-ide.mention.Entry?
---@param entry table
local function read(entry)
  local path =
    require("claude-ide.mention.list_window").plugin("telescope.from_entry").path(entry, false, false)
  if type(path) ~= "string" then
    return nil
  elseif path:sub(1, 1) ~= "/" and type(entry.cwd) == "string" then
    path = entry.cwd .. "/" .. path
  end
  local line = entry.text and entry.lnum or nil
  return { path = path, first = line, last = line }
end

---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries()
  local state = require("claude-ide.mention.list_window").plugin("telescope.actions.state")
  local picker = state.get_current_picker(vim.api.nvim_get_current_buf())
  if not picker then
    return nil, "This is not the prompt of an open picker."
  end
  local marked = picker:get_multi_selection()
  local entries = #marked > 0 and marked or { state.get_selected_entry() }
  return vim.iter(entries):map(read):totable()
end

return M
