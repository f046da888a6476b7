-- `:Claude diffs`: the proposed edits that wait, to choose from.

local M = {}

---@param diff table
---@return string
local function label(diff)
  return vim.fn.fnamemodify(diff.path, ":~:.")
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
      require("claude-ide.diff").focus(diff.id)
    end
  end)
  return true
end

return M
