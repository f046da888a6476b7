-- Folds the text that is equal on both sides away, as diff mode does. The folds are made once: what a user opens stays
-- open, what they change is in the open.
local M = {}

---Lines around a hunk that stay, and columns for the folds, where 'diffopt' does not say.
local CONTEXT, COLUMN = 6, 2

---@param name string
---@param default integer
---@return integer
local function diffopt(name, default)
  local given = tonumber(("," .. vim.o.diffopt):match("," .. name .. ":(%d+)")) --[[@as integer?]]
  return given or default
end

---@param hunks claude-ide.buffer.Hunk[]
---@param side claude-ide.ui.Side
---@param last integer
---@return string[] commands
local function commands(hunks, side, last)
  local start, count = "new", "new_count"
  if side == "now" then
    start, count = "old", "old_count"
  end
  local context, from, found = math.max(diffopt("context", CONTEXT), 1), 1, {}
  for i = 1, #hunks + 1 do
    local hunk = hunks[i]
    local upto = hunk and hunk[start] - 1 - context or last
    if upto > from then
      found[#found + 1] = ("%d,%dfold"):format(from, upto)
    end
    from = hunk and hunk[start] + hunk[count] + context or from
  end
  return found
end

---@param pair claude-ide.compare.Pair with one window or two
function M.show(pair)
  local list = pair.hunks.list
  for side, win in pairs(pair.wins) do
    local wo = vim.wo[win][0]
    wo.foldmethod, wo.foldlevel, wo.foldenable = "manual", 0, true
    if pair.wins.now then
      -- As in diff mode, which the two windows are to look like.
      ---@diagnostic disable-next-line: assign-type-mismatch -- a number, as a string
      wo.foldcolumn = tostring(diffopt("foldcolumn", COLUMN))
    end
    local folds = #list > 0 and commands(list, side, vim.api.nvim_buf_line_count(pair.bufs[side])) or {}
    vim.api.nvim_win_call(win, function()
      vim.cmd("normal! zE")
      vim.api.nvim_exec2(table.concat(folds, "\n"), {})
    end)
  end
end

---@param pair claude-ide.compare.Pair
function M.hide(pair)
  for side, win in pairs(pair.wins) do
    -- The user may have put another buffer into the window, or chosen another 'foldmethod', which has no folds to delete (E351).
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == pair.bufs[side] then
      if vim.wo[win].foldmethod == "manual" then
        vim.api.nvim_win_call(win, function()
          vim.cmd("normal! zE")
        end)
      end
      local wo = vim.wo[win][0]
      for _, option in ipairs({ "foldmethod", "foldlevel", "foldenable", "foldcolumn" }) do
        wo[option] = vim.go[option]
      end
    end
  end
end

---Opens and closes on one side what is open and closed on the other, at the cursor.
---@param from integer window
---@param to integer window
---@param lnum integer of the cursor in `to`
function M.follow(from, to, lnum)
  for _, option in ipairs({ "foldlevel", "foldenable" }) do
    if vim.wo[from][option] ~= vim.wo[to][option] then
      vim.wo[to][0][option] = vim.wo[from][option]
    end
  end
  local function is_closed(win, line)
    return vim.api.nvim_win_call(win, function()
      return vim.fn.foldclosed(line) > 0
    end)
  end
  local closed = is_closed(from, vim.api.nvim_win_get_cursor(from)[1])
  if closed ~= is_closed(to, lnum) then
    vim.api.nvim_win_call(to, function()
      vim.cmd(("silent! %d%s"):format(lnum, closed and "foldclose" or "foldopen!"))
    end)
  end
end

return M
