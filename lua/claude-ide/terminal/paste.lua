-- A paste reaches the CLI in one piece, and is known as text that the user has not sent.
-- Neovim before 0.12.2 hands a long paste over in parts, each of which the CLI takes for a paste of its own ("[Pasted text
-- #1]", "[Pasted text #2]", …). There, for our terminals only, the parts are gathered and handed on as one.

local M = {}

---Buffers of our terminals.
---@type table<integer, true>
local ours = {}
local installed = false

local function install()
  installed = true
  local neovims_own = vim.paste
  local comes_whole = vim.fn.has("nvim-0.12.2") == 1
  ---@type string[] parts of the paste that is under way
  local parts = {}

  ---@param lines string[]
  ---@param phase -1|1|2|3 -1: all at once; 1, 2, 3: first, next, last part
  vim.paste = function(lines, phase)
    local buf = vim.api.nvim_get_current_buf()
    if ours[buf] then
      require("claude-ide.ui.guard.keys").note_paste(buf)
    end
    if phase == -1 or comes_whole or not ours[buf] then
      return neovims_own(lines, phase)
    end
    if phase == 1 then
      parts = {}
    end
    -- A part may end within a line.
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
    desc = "Claude Code: the terminal takes no more pastes",
  })
  if not installed then
    install()
  end
end

return M
