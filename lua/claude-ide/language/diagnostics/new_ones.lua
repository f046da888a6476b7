-- Which diagnostics are new: by their counts, since edits move their lines.
local M = {}

---@alias claude-ide.diagnostics.Countable claude-ide.Diagnostic|vim.Diagnostic the second ones of any buffers

---@param one claude-ide.diagnostics.Countable
---@return string
local function what_of(one)
  return ("%s\n%s\n%s\n%s"):format(tostring(one.bufnr), one.severity, tostring(one.code), one.message)
end

---@param list claude-ide.diagnostics.Countable[]
---@return table<string, integer>
function M.counted(list)
  local counts = {}
  for _, one in ipairs(list) do
    local what = what_of(one)
    counts[what] = (counts[what] or 0) + 1
  end
  return counts
end

---The diagnostics that are not in `old`.
---@generic T: claude-ide.diagnostics.Countable
---@param list T[]
---@param old table<string, integer> fixed ones are removed
---@return T[]
function M.since(list, old)
  local now, left, new = M.counted(list), {}, {}
  for what, count in pairs(old) do
    old[what] = now[what] and math.min(count, now[what]) or nil
    left[what] = old[what]
  end
  for _, one in ipairs(list) do
    local what = what_of(one)
    if (left[what] or 0) > 0 then
      left[what] = left[what] - 1
    else
      new[#new + 1] = one
    end
  end
  return new
end

return M
