-- `:Claude diffs`: the proposed edits that wait, to choose from, to go through, to list. And what decides on all of them.

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

---Lists them in the quickfix window, each at its first change.
---@return boolean? ok
---@return string? err
function M.quickfix()
  local items, is_in_diff = {}, false
  for _, diff in ipairs(require("claude-ide.diff").list()) do
    local counts = diff.added and ("+%d −%d"):format(diff.added, diff.removed) or "is being made"
    is_in_diff = is_in_diff or diff.current
    items[#items + 1] = {
      filename = diff.path,
      lnum = diff.first or 1,
      text = ("%s · session %d"):format(counts, diff.client),
    }
  end
  if #items == 0 then
    return nil, "No edit waits for you."
  end
  vim.fn.setqflist({}, " ", { title = "Edits that wait for you", items = items })
  if is_in_diff then
    -- In the tab page of a diff there is no window that may show another file.
    require("claude-ide.notice").info("They are in the quickfix list.")
  else
    vim.cmd("botright copen")
  end
  return true
end

---@param outcome "accepted"|"rejected"
---@return boolean? ok
---@return string? err
function M.decide_all(outcome)
  local diff = require("claude-ide.diff")
  if diff.count() == 0 then
    return nil, "No diff waits for a decision."
  end
  local count = diff.decide_all(outcome)
  require("claude-ide.notice").info(("%d %s %s."):format(count, count == 1 and "edit" or "edits", outcome))
  return true
end

---What may follow `:Claude diffs`.
M.ACTIONS = {
  next = function()
    return require("claude-ide.diff").step(1)
  end,
  previous = function()
    return require("claude-ide.diff").step(-1)
  end,
  quickfix = M.quickfix,
}

return M
