-- Delivers a paste to the CLI in one piece, and records it as unsent text.
-- Neovim before 0.12.2 splits a long paste, and the CLI takes each part for a separate paste ("[Pasted text #1]", "[Pasted text #2]",
-- …). There the parts are joined, in our terminals only.

local lazy = require("claude-ide.lazy")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Buffers of our terminals.
---@type table<integer, true>
local ours = {}
local installed = false

local function install()
  installed = true
  local neovims_own = vim.paste
  local comes_whole = vim.fn.has("nvim-0.12.2") == 1
  ---@type string[] parts of the current paste
  local parts = {}

  ---@param lines string[]
  ---@param phase -1|1|2|3 -1: all at once; 1, 2, 3: first, next, last part
  vim.paste = function(lines, phase)
    local buf = vim.api.nvim_get_current_buf()
    if ours[buf] then
      typing.note_paste(buf)
    end
    if phase == -1 or comes_whole or not ours[buf] then
      return neovims_own(lines, phase)
    end
    if phase == 1 then
      parts = {}
    end
    -- A part may end in mid-line.
    parts[#parts + 1] = table.concat(lines, "\n")
    if phase ~= 3 then
      return true
    end
    local whole = vim.split(table.concat(parts), "\n", { plain = true })
    parts = {}
    return neovims_own(whole, -1)
  end
end

---@param buf integer
function M.attach(buf)
  ours[buf] = true
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      ours[buf] = nil
    end,
    desc = "Claude Code: forget the terminal's buffer",
  })
  if not installed then
    install()
  end
end

return M
