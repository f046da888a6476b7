-- Two texts compared on the screen: in diff mode, in windows drawn here, or as one text. Shared by proposals and reviews.
-- Knows what is in windows that are there already; who makes them and where is somebody else's.
local M = {}

---Colours the groups of diff mode in a window as those of its side.
---@param pair claude-ide.compare.Pair
local function colour(pair)
  for side, win in pairs(pair.wins) do
    local groups = require("claude-ide.compare.colours").of_side(side)
    local given = vim.wo[win].winhighlight
    if given ~= "" then
      table.insert(groups, 1, given)
    end
    vim.wo[win][0].winhighlight = table.concat(groups, ",")
  end
end

---@param pair claude-ide.compare.Pair
function M.compare(pair)
  require("claude-ide.compare.colours").define()
  if require("claude-ide.compare.shape").has_diff_mode(pair) then
    colour(pair)
    -- In the order in which they were compared here: the other way round, other lines may belong together.
    for _, side in ipairs({ "now", "proposal" }) do
      vim.api.nvim_win_call(pair.wins[side], vim.cmd.diffthis)
    end
  elseif pair.wins.now then
    require("claude-ide.compare.marks").show(pair)
  else
    require("claude-ide.compare.folds").show(pair)
    require("claude-ide.compare.unified").show(pair)
  end
  require("claude-ide.compare.hidden_text").refresh(pair)
  if not pair.without_keys then
    require("claude-ide.compare.change_keys").map(pair)
  end
end

---Takes everything out of the windows and buffers that comparing has put there.
---@param pair claude-ide.compare.Pair
function M.end_comparing(pair)
  require("claude-ide.compare.change_keys").unmap(pair)
  require("claude-ide.compare.hidden_text").hide(pair)
  if require("claude-ide.compare.unified").hide(pair) then
    require("claude-ide.compare.folds").hide(pair)
  end
  require("claude-ide.compare.marks").hide(pair)
  for _, win in pairs(pair.wins) do
    if vim.api.nvim_win_is_valid(win) and vim.wo[win].diff then
      vim.api.nvim_win_call(win, function()
        vim.cmd("diffoff")
      end)
      local without = vim.wo[win].winhighlight:gsub(",?Diff%a+:ClaudeDiff%a+", "")
      vim.wo[win][0].winhighlight = without
      vim.wo[win][0].scrollbind = false
    end
  end
end

---Brings the two windows to the same lines, as the proposal has them.
---@param pair claude-ide.compare.Pair
function M.align(pair)
  if require("claude-ide.compare.shape").has_diff_mode(pair) then
    require("claude-ide.compare.scroll_sync").align_diff_mode(pair)
  elseif pair.wins.now then
    require("claude-ide.compare.scroll_sync").align(pair, "proposal")
  end
end

---@param pair claude-ide.compare.Pair
function M.go_to_first_change(pair)
  if pair.wins.now then
    if require("claude-ide.compare.first_change").show(pair) then
      M.align(pair)
    end
  else
    require("claude-ide.compare.unified").go_to_first(pair)
  end
end

---The text, and with it the hunks, have changed.
---@param pair claude-ide.compare.Pair
function M.refresh(pair)
  require("claude-ide.compare.hidden_text").refresh(pair)
  if not pair.wins.now then
    require("claude-ide.compare.unified").refresh(pair)
  elseif pair.plain then
    require("claude-ide.compare.marks").refresh(pair)
  end
end

return M
