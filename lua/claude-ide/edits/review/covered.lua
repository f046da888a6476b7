-- Underlines another plugin's sign where it hides ours, since the sign column has room for one.
-- The other sign is drawn again above itself, underlined. With `signcolumn=number` a line number's highlight is not drawn beside a sign,
-- so the sign itself is marked.
-- Signs of other plugins change without an event, but not without a redraw: each redraw checks the lines it draws.
local lazy = require("claude-ide.lazy")
local redraw = lazy("claude-ide.base.redraw")

local M = {}

local GROUP = "ClaudeSignCovered"

---Neovim's maximum.
local MAX_PRIORITY = 65535

local namespace = vim.api.nvim_create_namespace("claude-ide.review.covered")

---Other plugins' highlight groups, mapped to their underlined copies.
---@type table<string, string>
local groups = {}

---@class claude-ide.review.Covering
---@field text string
---@field group string the underlined copy
---@field priority integer

local function underline(theirs, ours)
  local look = vim.api.nvim_get_hl(0, { name = theirs, link = false }) --[[@as vim.api.keyset.highlight]]
  look.underline, look.default = true, nil
  vim.api.nvim_set_hl(0, ours, look)
end

---@param buf integer
---@return boolean whether a window of it has room for exactly one sign
local function is_narrow(buf)
  return vim.iter(vim.fn.win_findbuf(buf)):any(function(win)
    local value = vim.wo[win].signcolumn
    return value ~= "no" and (tonumber(value:match("(%d)$")) or 1) == 1
  end)
end

---@param buf integer
---@param first integer row
---@param last integer row
---@param ours integer the namespace of our signs
---@return table<integer, claude-ide.review.Covering> wanted by row, where another sign hides ours
---@return table<integer, integer> present row of each existing mark
---@return boolean fits the existing marks are the wanted ones
local function look(buf, first, last, ours)
  local end_row = math.min(last, vim.api.nvim_buf_line_count(buf) - 1)
  local marks = vim.api.nvim_buf_get_extmarks(
    buf,
    -1,
    { first, 0 },
    { end_row, -1 },
    { details = true, type = "sign" }
  )
  local own, top = {}, {} ---@type table<integer, integer>, table<integer, integer> priorities by row
  local wanted, present = {}, {} ---@type table<integer, claude-ide.review.Covering>, table<integer, integer>
  for _, mark in ipairs(marks) do
    local details = mark[4]
    if details and details.ns_id == ours then
      own[mark[2]] = details.priority
    end
  end
  for _, mark in ipairs(is_narrow(buf) and marks or {}) do
    local row, sign = mark[2], mark[4]
    local hidden = own[row] and sign.ns_id ~= ours and sign.ns_id ~= namespace and sign.sign_text
    if hidden and sign.priority > math.max(own[row], top[row] or 0) then
      local theirs = sign.sign_hl_group or "SignColumn"
      top[row] = sign.priority
      wanted[row] = {
        text = sign.sign_text,
        group = GROUP .. "." .. theirs,
        priority = math.min(sign.priority + 1, MAX_PRIORITY),
      }
      groups[theirs] = wanted[row].group
    end
  end
  local fits, count = true, 0
  for _, mark in ipairs(marks) do
    local row, sign = mark[2], mark[4]
    if sign and sign.ns_id == namespace then
      local one = wanted[row]
      present[mark[1]], count = row, count + 1
      fits = fits
        and one ~= nil
        and one.text == sign.sign_text
        and one.group == sign.sign_hl_group
        and one.priority == sign.priority
    end
  end
  return wanted, present, fits and count == vim.tbl_count(wanted)
end

---@param buf integer
---@param wanted table<integer, claude-ide.review.Covering>
---@param present table<integer, integer>
local function apply(buf, wanted, present)
  local ids = {}
  for id, row in pairs(present) do
    -- Deleted lines leave several marks on one row.
    if wanted[row] and not ids[row] then
      ids[row] = id
    else
      vim.api.nvim_buf_del_extmark(buf, namespace, id)
    end
  end
  M.define()
  for row, one in pairs(wanted) do
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
      id = ids[row],
      sign_text = one.text,
      sign_hl_group = one.group,
      priority = one.priority,
    })
  end
end

---Defines the underlined groups, again after a change of the colour scheme.
function M.define()
  for theirs, ours in pairs(groups) do
    underline(theirs, ours)
  end
end

---@param buf integer
function M.clear(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
end

---Starts to check redraws.
---@param ours integer the namespace of our signs
---@param is_marked fun(buf: integer): boolean whether a buffer has signs of ours
function M.attach(ours, is_marked)
  redraw.on(namespace, "check the signs", {
    on_win = function(_, _, buf, first, last)
      if is_marked(buf) and not select(3, look(buf, first, last, ours)) then
        -- Marks cannot be changed during a redraw.
        vim.schedule(function()
          if vim.api.nvim_buf_is_valid(buf) and is_marked(buf) then
            apply(buf, look(buf, first, last, ours))
          end
        end)
      end
      return false
    end,
  })
end

return M
