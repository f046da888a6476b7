-- Sends a bell or a notification to Neovim's terminal. Never anything that moves the cursor.

local M = {}

local function has_terminal()
  return vim.iter(vim.api.nvim_list_uis()):any(function(ui)
    return ui.stdout_tty
  end)
end

---@param bytes string complete control sequences that draw nothing
---@return boolean sent
local function send(bytes)
  if not has_terminal() then
    return false
  end
  if vim.api.nvim_ui_send then -- Neovim 0.12: in sequence with its own output
    return (pcall(vim.api.nvim_ui_send, bytes))
  elseif vim.uv.guess_handle(2) ~= "tty" then
    return false -- the screen belongs to another process
  end
  return (pcall(vim.api.nvim_chan_send, vim.v.stderr, bytes))
end

---Rings the terminal's bell.
---@return boolean sent
function M.bell()
  return send("\a")
end

---Sends a desktop notification through the terminal (OSC 9: iTerm2, kitty, WezTerm, Ghostty, foot, Windows Terminal, …).
---@param text string
---@return boolean sent
function M.notify(text)
  local plain = text:gsub("\194[\128-\159]", " "):gsub("%c", " ")
  -- A leading "4;…" would be ConEmu's progress bar.
  local sequence = ("\27]9;%s\27\\"):format((plain:gsub("^%d+;", " %0")))
  if vim.env.TMUX then
    -- tmux forwards wrapped sequences if allow-passthrough is on.
    sequence = ("\27Ptmux;%s\27\\"):format((sequence:gsub("\27", "\27\27")))
  end
  return send(sequence)
end

return M
