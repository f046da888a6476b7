-- Marks hidden content in the lines of a buffer that shows a text to be approved: what `base/invisible_text.lua` finds and Neovim does not draw.
local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")
local invisible_text = lazy("claude-ide.base.invisible_text")

local M = {}

---Maximum bytes of a line in which it is marked.
local MOST_BYTES = 64 * 1024

---Above other marks of a line.
local PRIORITY = 4200

local namespace = vim.api.nvim_create_namespace("claude-ide.hidden_marks")

---@param buf integer
---@param row integer 0-based
---@param line string
---@param opts? { namespace?: integer, most?: claude-ide.invisible_text.Most }
---@return integer count hidden characters and runs of blanks, including those that Neovim draws
function M.line(buf, row, line, opts)
  opts = opts or {}
  local found, count = invisible_text.find(line:sub(1, MOST_BYTES), opts.most)
  local is_taken = {} ---@type table<integer, boolean> an inline mark there, which another one would cover
  for _, one in ipairs(found) do
    is_taken[one.at] = is_taken[one.at] or not one.is_run
  end
  for _, one in ipairs(found) do
    local room = one.is_run and not is_taken[one.at] and #line:match("^[ \t]*", one.at) or 0
    local covers = room >= vim.api.nvim_strwidth(one.mark)
    vim.api.nvim_buf_set_extmark(buf, opts.namespace or namespace, row, one.at - 1, {
      virt_text = { { one.mark, "ClaudeDiffHidden" } },
      virt_text_pos = covers and "overlay" or "inline",
      priority = PRIORITY,
      strict = false,
      undo_restore = false,
    })
  end
  return count
end

---Marks a buffer's lines, now and after each change.
---@param buf integer
---@param most? claude-ide.invisible_text.Most default: of code
function M.keep(buf, most)
  highlights.define_shared()
  local function mark(first, last)
    for at, line in ipairs(vim.api.nvim_buf_get_lines(buf, first, last, false)) do
      M.line(buf, first + at - 1, line, { most = most })
    end
  end
  mark(0, -1)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, _, last)
      vim.api.nvim_buf_clear_namespace(buf, namespace, first, last)
      mark(first, last)
    end,
    on_reload = function()
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
      mark(0, -1)
    end,
  })
end

return M
