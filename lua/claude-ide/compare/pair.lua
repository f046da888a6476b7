-- Two texts compared on the screen: in diff mode, in windows drawn here, or as one text. Shared by proposals and reviews.
-- Knows what is in windows that are there already; who makes them and where is somebody else's.
local M = {}

---@class claude-ide.compare.Pair
---@field bufs table<claude-ide.ui.Side, integer>
---@field wins table<claude-ide.ui.Side, integer> `now` is missing where the layout has no window for it
---@field hunks claude-ide.compare.Differences
---@field plain boolean without Neovim's diff mode
---@field without_keys? boolean whoever made it maps the keys of diff mode, where that is missing

---@param pair claude-ide.compare.Pair
---@return boolean whether Neovim itself compares
local function has_diff_mode(pair)
  return pair.wins.now ~= nil and not pair.plain
end

---@param pair claude-ide.compare.Pair
function M.compare(pair)
  if has_diff_mode(pair) then
    -- In the order in which they were compared here: the other way round, other lines may belong together.
    for _, side in ipairs({ "now", "proposal" }) do
      vim.api.nvim_win_call(pair.wins[side], vim.cmd.diffthis)
    end
    return
  elseif pair.wins.now then
    require("claude-ide.compare.marks").show(pair)
  else
    require("claude-ide.compare.unified").show(pair.hunks, pair.bufs.now, pair.wins.proposal)
  end
  if not pair.without_keys then
    require("claude-ide.compare.change_keys").map(pair)
  end
end

---Takes everything out of the windows and buffers that comparing has put there.
---@param pair claude-ide.compare.Pair
function M.end_comparing(pair)
  require("claude-ide.compare.change_keys").unmap(pair)
  require("claude-ide.compare.unified").hide(pair.bufs.proposal)
  require("claude-ide.compare.marks").hide(pair)
  for _, win in pairs(pair.wins) do
    if vim.api.nvim_win_is_valid(win) and vim.wo[win].diff then
      vim.api.nvim_win_call(win, function()
        vim.cmd("diffoff")
      end)
      vim.wo[win][0].scrollbind = false
    end
  end
end

---The first change as diff mode sees it: with the person's 'diffopt' that need not be the first that there is.
---@return integer lnum
local function first_in_diff_mode()
  vim.cmd("normal! gg")
  if vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
    vim.cmd("silent! normal! ]c")
  end
  return vim.fn.line(".")
end

---@param pair claude-ide.compare.Pair
function M.go_to_first_change(pair)
  if not pair.wins.now then
    return require("claude-ide.compare.unified").go_to_first(pair.bufs.proposal)
  end
  local first = pair.hunks.list[1]
  for side, win in pairs(pair.wins) do
    vim.api.nvim_win_call(win, function()
      local lnum = 1
      if not pair.plain then
        lnum = first_in_diff_mode()
      elseif first then
        lnum =
          math.min(side == "now" and first.old or first.new, vim.api.nvim_buf_line_count(pair.bufs[side]))
      end
      vim.api.nvim_win_set_cursor(win, { lnum, 0 })
      vim.cmd("normal! zvzz")
    end)
  end
  M.align(pair)
end

---Brings the two windows to the same lines, as the proposal has them.
---@param pair claude-ide.compare.Pair
function M.align(pair)
  if has_diff_mode(pair) then
    vim.api.nvim_win_call(pair.wins.proposal, function()
      vim.cmd("syncbind")
    end)
  elseif pair.wins.now then
    require("claude-ide.compare.scroll_sync").align(pair, "proposal")
  end
end

---The text, and with it the hunks, have changed.
---@param pair claude-ide.compare.Pair
function M.refresh(pair)
  if not pair.wins.now then
    require("claude-ide.compare.unified").refresh(pair.bufs.proposal)
  elseif pair.plain then
    require("claude-ide.compare.marks").refresh(pair)
  end
end

return M
