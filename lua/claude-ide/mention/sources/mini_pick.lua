-- mini.pick, from a map of its own (`mappings = { mention = { char = "<C-s>", func = function() vim.cmd.ClaudeSend() end } }`):
-- while it is open it takes all keys. Read at ebe3dac (2025-06-24): `MiniPick.get_picker_matches()` gives the marked items and
-- the current one; an item is a path, or "path\0line\0column\0text", or a table with `path` and `lnum`; paths are relative to
-- `source.cwd` of `MiniPick.get_picker_opts()`.
local M = {}

---@return claude-ide.mention.Entry?
local function read(item, cwd)
  local path, line
  if type(item) == "table" then
    path, line = item.path, item.lnum
  elseif type(item) == "string" then
    local parts = vim.split(item, "\0", { plain = true })
    path, line = parts[1], tonumber(parts[2])
  end
  if type(path) ~= "string" then
    return nil
  end
  path = path:gsub("^~", vim.uv.os_homedir() or "~")
  return { path = path:sub(1, 1) == "/" and path or cwd .. "/" .. path, first = line, last = line }
end

---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries()
  local pick = require("claude-ide.mention.list_window").plugin("mini.pick")
  local matches = pick.get_picker_matches()
  if not matches then
    return nil, "This is not a window of an open picker."
  end
  local options = pick.get_picker_opts()
  local cwd = options and options.source and options.source.cwd or vim.fn.getcwd()
  local items = matches.marked and #matches.marked > 0 and matches.marked or { matches.current }
  local found = {}
  for _, item in ipairs(items) do
    found[#found + 1] = read(item, cwd)
  end
  return found
end

return M
