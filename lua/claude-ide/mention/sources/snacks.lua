-- snacks.nvim: its pickers and its explorer, which is one. Read as of 2026-03-21: `Snacks.picker.get()` gives the
-- open pickers of the tab page; a picker has `current_win()`, `selected({ fallback })` and `list` (`row2idx`, `get`);
-- `Snacks.picker.util.path(item)` gives an item's file. `pos` is where the item points; it counts here only where the item
-- is one line of a file (`line`: grep, diagnostics, quickfix), since buffers and recent files have one too.
local M = {}

local function snacks()
  return require("claude-ide.mention.list_window").plugin("snacks")
end

---The picker whose window the user is in.
local function current_picker()
  for _, picker in ipairs(snacks().picker.get()) do
    if picker:current_win() then
      return picker
    end
  end
end

---@param range { first: integer, last: integer }
---@return table[] items
local function items_on(picker, range)
  local items = {}
  for row = range.first, range.last do
    items[#items + 1] = picker.list:get(picker.list:row2idx(row))
  end
  return items
end

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local picker = current_picker()
  if not picker then
    return nil, "This is not a window of an open picker."
  end
  -- In the input there is one line, so a range there says nothing.
  local in_list = picker:current_win() == "list"
  local items = range and in_list and items_on(picker, range) or picker:selected({ fallback = true })
  local found = {}
  for _, item in ipairs(items) do
    local path = snacks().picker.util.path(item)
    if path then
      local first = item.line and item.pos and item.pos[1] > 0 and item.pos[1] or nil
      found[#found + 1] =
        { path = path, first = first, last = first and item.end_pos and item.end_pos[1] or first }
    end
  end
  return found
end

return M
