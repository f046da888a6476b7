-- Paginates answers for models: bounded length, and a cursor for the next page.
-- A cursor is the number of entries before the page. Each page repeats the query, so that no page is stale.
local lazy = require("claude-ide.lazy")
local position = lazy("claude-ide.base.position")

local M = {}

---About 2,000 tokens of code.
local MAX_BYTES = 6400

---@class claude-ide.language.Entry
---@field group? string heading, written once for consecutive entries
---@field text string

---@param cursor? string
---@return integer? offset nil: invalid cursor
local function offset_of(cursor)
  if cursor == nil then
    return 0
  end
  local number = cursor:match("^(%d+)$")
  return number and tonumber(number) --[[@as integer?]]
end

---@class claude-ide.language.List
---@field head string
---@field none? string the answer without entries
---@field count integer
---@field entry fun(index: integer): claude-ide.language.Entry? nil: withheld
---@field notes? string[]
---@field cursor? string of the page

---The lines of a list from an entry on, as far as they fit.
---@param task claude-ide.language.Task
---@param list claude-ide.language.List
---@param offset integer entries before
---@param max_bytes integer
---@return string[] lines
---@return integer last entry
local function fill(task, list, offset, max_bytes)
  local out, bytes, group = { list.head }, #list.head, nil
  vim.list_extend(out, list.notes or {})
  local shown = offset
  for index = offset + 1, list.count do
    local entry = list.entry(index)
    if entry then
      local header = entry.group ~= group and entry.group or nil
      local size = #entry.text + 1 + (header and #header + 1 or 0)
      if bytes + size > max_bytes and shown > offset then
        break
      end
      if header then
        out[#out + 1] = header
      end
      out[#out + 1] = entry.text
      group, bytes = entry.group, bytes + size
    end
    shown = index
    task:breathe()
  end
  return out, shown
end

---The entries from the cursor on that fit.
---@param task claude-ide.language.Task
---@param list claude-ide.language.List
---@return { text: string }
function M.pages(task, list)
  local offset = offset_of(list.cursor)
  if not offset or offset > list.count then
    task:fail("this cursor is of no answer; leave it out to start again", "invalid_params")
  end
  ---@cast offset integer
  if list.count == 0 and list.none then
    return { text = list.none }
  end
  local out, shown = fill(task, list, offset, MAX_BYTES)
  if shown < list.count then
    out[#out + 1] = ('(%d–%d of %d; for more pass cursor "%d")'):format(
      offset + 1,
      shown,
      list.count,
      shown
    )
  elseif offset > 0 then
    out[#out + 1] = ("(%d–%d of %d; that is all)"):format(offset + 1, shown, list.count)
  end
  return { text = table.concat(out, "\n") }
end

---The entries that fit, for a reader that cannot ask for more.
---@param task claude-ide.language.Task
---@param list claude-ide.language.List
---@param max_bytes integer
---@return string? text nil: there are none
---@return string? none
function M.whole(task, list, max_bytes)
  if list.count == 0 then
    return nil, list.none
  end
  local out, shown = fill(task, list, 0, max_bytes)
  if shown < list.count then
    out[#out + 1] = ("(cut: %d of %d)"):format(shown, list.count)
  end
  return table.concat(out, "\n")
end

---Cuts a long text, between lines unless they are too long.
---@param text string
---@param max_bytes? integer
---@return string
function M.cut(text, max_bytes)
  local limit = max_bytes or MAX_BYTES
  local valid = position.valid(text)
  if #valid <= limit then
    return valid
  end
  local cut = position.truncate(valid, limit)
  local lines = cut:match("^(.*)\n") or ""
  return ("%s\n(cut here: it has %d bytes)"):format(#lines > limit / 2 and lines or cut, #valid)
end

return M
