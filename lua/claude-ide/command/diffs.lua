-- `:Claude diffs`: the proposed edits that wait, to choose from.

local M = {}

---@param diff claude-ide.diff.Item
---@return string
local function label(diff)
  local name = vim.fn.fnamemodify(diff.path, ":~:.")
  return diff.added and ("%s  +%d −%d"):format(name, diff.added, diff.removed) or name
end

---@return boolean? ok
---@return string? err
function M.choose()
  local diffs = require("claude-ide.diff").list()
  if #diffs == 0 then
    require("claude-ide.notice").info("No edit waits for you.")
    return true
  end
  vim.ui.select(diffs, { prompt = "Edits that wait for you", format_item = label }, function(diff)
    if diff then
      -- It may have been answered in the CLI while the list was open.
      local ok, err = require("claude-ide.diff").focus(diff.id)
      if not ok then
        require("claude-ide.notice").warn(err or "The diff is gone.")
      end
    end
  end)
  return true
end

return M
