-- A line in the corner of the screen about a waiting diff. Not a message: in insert and terminal mode Neovim draws the mode over
-- messages.
local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local quietly = lazy("claude-ide.ui.quietly")
local window = lazy("claude-ide.base.window")

local M = {}

local win ---@type integer?

function M.hide()
  if win then
    quietly.run(function()
      window.close_all({ win })
    end)
  end
  win = nil
end

---Shows the line, replacing the previous one.
---@param text string
function M.show(text)
  M.hide()
  highlights.define_shared()
  text = " " .. vim.fn.strtrans(text) .. " "
  local width = math.min(vim.api.nvim_strwidth(text), vim.o.columns)
  win = quietly.run(function()
    local buf = own_buffer.create({ lines = { text }, bo = { bufhidden = "wipe" } })
    local float = vim.api.nvim_open_win(buf, false, {
      relative = "editor",
      anchor = "SE",
      row = vim.o.lines - vim.o.cmdheight - 1,
      col = vim.o.columns,
      width = width,
      height = 1,
      style = "minimal",
      focusable = false,
      zindex = 60,
      noautocmd = true,
    })
    vim.wo[float][0].winhighlight = "NormalFloat:ClaudeDiffHintFloat"
    vim.wo[float][0].wrap = false
    return float
  end)
  -- Neovim does not redraw by itself during the command line.
  if vim.api.nvim_get_mode().mode:find("^c") then
    vim.cmd.redraw()
  end
end

return M
