-- A search that finds nothing in the buffer goes on in earlier messages, which are loaded until one has a match.

local lazy = require("claude-ide.lazy")
local loader = lazy("claude-ide.transcript.loader")
local notice = lazy("claude-ide.base.notice")
local waits = lazy("claude-ide.base.waits")

local M = {}

---Milliseconds that a search in the buffer may take.
local MOST_MS = 500

---The search that goes on.
local running ---@type table?

---@param view claude-ide.transcript.View
---@param win integer
---@return claude-ide.transcript.Spot
local function spot_in(view, win)
  return (view.canvas:spot(vim.api.nvim_win_get_cursor(win)[1]))
end

---Moves to the last match above a row.
---@param view claude-ide.transcript.View
---@param pattern string
---@param row integer
---@return boolean
local function go_to_match(view, pattern, row)
  local saved, first = vim.fn.winsaveview(), view.canvas:is_head(1) and 2 or 1
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { view.canvas:before(row) + 1, 0 })
  if vim.fn.search(pattern, "bW", first, MOST_MS) > 0 then
    vim.cmd("normal! zv")
    return true
  end
  vim.fn.winrestview(saved)
  return false
end

---@param view claude-ide.transcript.View
---@param win integer
---@param pattern string
local function go_on(view, win, pattern)
  local canvas, search, origin = view.canvas, {}, spot_in(view, win)
  running = search
  local function load()
    local row = canvas.first
    if row == 0 then
      return notice.warn(("Pattern not found: %s"):format(pattern))
    end
    loader.load(view, row - 1, function()
      local is_there = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == view.buf
      if running ~= search or not is_there or not vim.deep_equal(spot_in(view, win), origin) then
        return -- another search was begun, or the cursor was moved
      end
      local is_found = vim.api.nvim_win_call(win, function()
        return go_to_match(view, pattern, row)
      end)
      if is_found then
        vim.cmd("echo ''")
      else
        load()
      end
    end)
  end
  notice.info("Searching earlier messages …")
  load()
end

---@param view claude-ide.transcript.View
local function searched(view)
  local win, pattern = vim.api.nvim_get_current_win(), vim.fn.getreg("/") --[[@as string]]
  if view.closed or vim.api.nvim_win_get_buf(win) ~= view.buf or waits.pending_range(view.buf) then
    return
  end
  local ok, found = pcall(vim.fn.search, pattern, "nw", 0, MOST_MS)
  if ok and found == 0 and view.canvas:has_earlier() then
    if view.canvas:is_head(vim.fn.line(".")) then
      vim.api.nvim_win_set_cursor(win, { 2, 0 })
    end
    go_on(view, win, pattern)
  end
end

---@param view claude-ide.transcript.View
---@param group integer
function M.listen(view, group)
  vim.api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = { "/", "?" },
    desc = "Claude Code: search earlier messages of a transcript",
    callback = function()
      if not vim.v.event.abort and vim.api.nvim_get_current_buf() == view.buf then
        vim.schedule(function()
          searched(view)
        end)
      end
    end,
  })
end

return M
