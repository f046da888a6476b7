-- Choices in a buffer, of one or more lines each. `j` and `k` move between them; the one at the cursor is highlighted.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.menu")

---@class claude-ide.ui.menu.Choice
---@field first integer line, from 1
---@field last integer
---@field value any

---@type table<integer, claude-ide.ui.menu.Choice[]> by buffer
local menus = {}

---@param buf integer
---@param lnum integer
---@return integer? index of the choice
local function find(buf, lnum)
  for at, choice in ipairs(menus[buf] or {}) do
    if lnum >= choice.first and lnum <= choice.last then
      return at
    end
  end
end

local function highlight(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local win = vim.fn.bufwinid(buf)
  local at = win ~= -1 and find(buf, vim.api.nvim_win_get_cursor(win)[1])
  local choice = at and menus[buf][at]
  for row = choice and choice.first or 1, choice and choice.last or 0 do
    local opts = { line_hl_group = "CursorLine", priority = 10 }
    pcall(vim.api.nvim_buf_set_extmark, buf, namespace, row - 1, 0, opts)
  end
end

local function go(buf, win, at)
  local choice = menus[buf][at]
  if choice then
    vim.api.nvim_win_set_cursor(win, { choice.last, 0 }) -- scrolls all of it into view
    vim.api.nvim_win_set_cursor(win, { choice.first, 0 })
    highlight(buf)
  end
end

local function move(buf, step)
  local choices, lnum = menus[buf], vim.fn.line(".")
  local at = find(buf, lnum)
  if not at then -- before the first choice, or after the last
    at = #vim.tbl_filter(function(choice)
      return choice.last < lnum
    end, choices) + (step > 0 and 0 or 1)
  end
  go(buf, 0, math.max(math.min(at + step, #choices), 1))
end

local function map(buf)
  ---@type table<string, integer>
  local steps = {
    j = 1,
    ["<Down>"] = 1,
    ["<C-n>"] = 1,
    k = -1,
    ["<Up>"] = -1,
    ["<C-p>"] = -1,
  }
  for lhs, step in pairs(steps) do
    vim.keymap.set(
      "n",
      lhs,
      function()
        move(buf, step * vim.v.count1)
      end,
      { buffer = buf, nowait = true, silent = true, desc = "Claude Code: go to the next or previous choice" }
    )
  end
  vim.api.nvim_create_autocmd({ "CursorMoved", "BufWipeout" }, {
    buffer = buf,
    desc = "Claude Code: highlight a choice",
    callback = function(event)
      if event.event == "BufWipeout" then
        menus[buf] = nil
      else
        highlight(buf)
      end
    end,
  })
end

---Sets the choices of a displayed buffer.
---@param buf integer
---@param choices claude-ide.ui.menu.Choice[]
function M.set(buf, choices)
  local is_new = not menus[buf]
  menus[buf] = choices
  if is_new and #choices > 0 then
    map(buf)
  elseif is_new then
    menus[buf] = nil
  end
  highlight(buf)
end

---The choice at the cursor of the current window.
---@param buf integer
---@return any value
function M.at_cursor(buf)
  local at = find(buf, vim.fn.line("."))
  return at and menus[buf][at].value
end

---@param win integer 0: the current one, where a key of its buffer was pressed
---@param value any
function M.go(win, value)
  local buf = vim.api.nvim_win_get_buf(win)
  for at, choice in ipairs(menus[buf] or {}) do
    if choice.value == value then
      return go(buf, win, at)
    end
  end
end

return M
