-- Starts a program in a buffer, which becomes its terminal.
local lazy = require("claude-ide.lazy")
local option = lazy("claude-ide.base.option")

local M = {}

---In the current buffer and window.
---@param argv string[]
---@param options table of `jobstart()`
---@param ignored? string further events without autocommands
---@return integer job 0, -1: not started
function M.start(argv, options, ignored)
  -- Before 0.12 the buffer gets its name between the program's start and that of the terminal's emulator. Autocommands of the name
  -- let Neovim read: what the program has written by then is lost. The name is no file's anyway.
  local events = "BufFilePre,BufFilePost" .. (ignored and "," .. ignored or "")
  return option.without_events(events, function()
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      return vim.fn.jobstart(argv, options)
    end
    return vim.fn.termopen(argv, options)
  end) --[[@as integer]]
end

return M
