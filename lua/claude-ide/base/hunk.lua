-- Hunks between two texts. Pure.
local M = {}

---@class claude-ide.buffer.Hunk lines [old, old + old_count) become [new, new + new_count)
---@field old integer 1-based
---@field old_count integer
---@field new integer 1-based
---@field new_count integer

---Neovim's diff function, renamed in 0.12.
---@type fun(old: string, new: string, opts?: table): string|integer[][]|nil
M.xdiff = vim.text and vim.text.diff or vim.diff

---Converts xdiff's numbers: for a side without lines they name the line before.
---@param index integer[]
---@return claude-ide.buffer.Hunk
function M.of_xdiff(index)
  local old, old_count, new, new_count = index[1], index[2], index[3], index[4]
  return {
    old = old_count == 0 and old + 1 or old,
    old_count = old_count,
    new = new_count == 0 and new + 1 or new,
    new_count = new_count,
  }
end

---@param hunks claude-ide.buffer.Hunk[]
---@return integer added lines
---@return integer removed
function M.count(hunks)
  local added, removed = 0, 0
  for _, hunk in ipairs(hunks) do
    added, removed = added + hunk.new_count, removed + hunk.old_count
  end
  return added, removed
end

---The hunk between the common beginning and end of two texts.
---@param old string[]
---@param new string[]
---@return claude-ide.buffer.Hunk hunk without lines if they are equal
function M.between_ends(old, new)
  local first, last_old, last_new = 1, #old, #new
  while first <= last_old and first <= last_new and old[first] == new[first] do
    first = first + 1
  end
  while last_old >= first and last_new >= first and old[last_old] == new[last_new] do
    last_old, last_new = last_old - 1, last_new - 1
  end
  return { old = first, old_count = last_old - first + 1, new = first, new_count = last_new - first + 1 }
end

---@param lines string[]
---@param first integer
---@param count integer
---@return string
local function joined(lines, first, count)
  return table.concat(lines, "\n", first, first + count - 1) .. "\n"
end

---The hunks of two texts. Only what lies between their common beginning and end is compared.
---@param old string[]
---@param new string[]
---@param diff fun(old: string, new: string, whole: claude-ide.buffer.Hunk): claude-ide.buffer.Hunk[]? nil: one hunk
---@return claude-ide.buffer.Hunk[] top to bottom
function M.compare(old, new, diff)
  local whole = M.between_ends(old, new)
  if whole.old_count == 0 and whole.new_count == 0 then
    return {}
  elseif whole.old_count == 0 or whole.new_count == 0 then
    return { whole }
  end
  local hunks = diff(joined(old, whole.old, whole.old_count), joined(new, whole.new, whole.new_count), whole)
  for _, hunk in ipairs(hunks or {}) do
    hunk.old, hunk.new = hunk.old + whole.old - 1, hunk.new + whole.new - 1
  end
  return hunks or { whole }
end

return M
