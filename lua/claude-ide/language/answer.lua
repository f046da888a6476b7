-- Paginates answers for models: bounded length, and a cursor for the next page.
-- A cursor is the number of entries before the page. Each page repeats the query, so that no page is stale.
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

---The entries from the cursor on that fit.
---@param task claude-ide.language.Task
---@param opts { head: string, count: integer, entry: (fun(index: integer): claude-ide.language.Entry?), cursor?: string, notes?: string[] }
---@return { text: string }
function M.pages(task, opts)
  local offset = offset_of(opts.cursor)
  if not offset or offset > opts.count then
    task:fail("this cursor is of no answer; leave it out to begin anew", "invalid_params")
  end
  ---@cast offset integer
  local out, bytes, group = { opts.head }, #opts.head, nil
  vim.list_extend(out, opts.notes or {})
  local shown = offset
  for index = offset + 1, opts.count do
    local entry = opts.entry(index)
    if entry then
      local header = entry.group ~= group and entry.group or nil
      local size = #entry.text + 1 + (header and #header + 1 or 0)
      if bytes + size > MAX_BYTES and shown > offset then
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
  if shown < opts.count then
    out[#out + 1] = ('(%d–%d of %d; for more pass cursor "%d")'):format(
      offset + 1,
      shown,
      opts.count,
      shown
    )
  elseif offset > 0 then
    out[#out + 1] = ("(%d–%d of %d; that is all)"):format(offset + 1, shown, opts.count)
  end
  return { text = table.concat(out, "\n") }
end

---Cuts a long text between lines.
---@param text string
---@param max_bytes? integer
---@return string
function M.cut(text, max_bytes)
  local limit = max_bytes or MAX_BYTES
  local valid = require("claude-ide.position").valid(text)
  if #valid <= limit then
    return valid
  end
  local cut = require("claude-ide.position").truncate(valid, limit)
  return (cut:match("^(.*)\n") or cut) .. "\n(cut here)"
end

---@param count integer
---@param one string
---@param many? string
---@return string
function M.number(count, one, many)
  return count == 1 and "1 " .. one or ("%d %s"):format(count, many or one .. "s")
end

return M
