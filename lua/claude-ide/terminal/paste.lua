-- A paste reaches the CLI in one piece.
-- Neovim before 0.12.2 hands a long paste over in parts, each of which the CLI takes for a paste of its own ("[Pasted text
-- #1]", "[Pasted text #2]", …). There, for our terminals only, the parts are gathered and sent as one bracketed paste.

local M = {}

local START, STOP = "\27[200~", "\27[201~"

---@type table<integer, integer> channel by buffer
local channels = {}
local installed = false

---What the pasted text may not hold: an ESC could end the paste early and let the rest act as typed keys.
---@param text string
---@return string
local function clean(text)
  return (text:gsub("[%z\1-\8\11-\31\127]", ""))
end

local function install()
  installed = true
  local neovims_own = vim.paste
  ---@type string[] parts of the paste that is under way
  local parts = {}

  ---@param lines string[]
  ---@param phase -1|1|2|3 -1: all at once; 1, 2, 3: first, next, last part
  vim.paste = function(lines, phase)
    local channel = channels[vim.api.nvim_get_current_buf()]
    if not channel then
      return neovims_own(lines, phase)
    end
    if phase == -1 or phase == 1 then
      parts = {}
    end
    parts[#parts + 1] = table.concat(lines, "\n")
    if phase == -1 or phase == 3 then
      local text = clean(table.concat(parts))
      parts = {}
      if text ~= "" then
        pcall(vim.api.nvim_chan_send, channel, START .. text .. STOP)
      end
    end
    return true
  end
end

---@param buf integer
---@param channel integer
function M.attach(buf, channel)
  if vim.fn.has("nvim-0.12.2") == 1 then
    return
  end
  channels[buf] = channel
  vim.api.nvim_create_autocmd({ "BufWipeout", "TermClose" }, {
    group = vim.api.nvim_create_augroup(("claude-ide.terminal.paste.%d"):format(buf), { clear = true }),
    buffer = buf,
    callback = function()
      channels[buf] = nil
    end,
    desc = "Claude Code: the terminal takes no more pastes",
  })
  if not installed then
    install()
  end
end

return M
