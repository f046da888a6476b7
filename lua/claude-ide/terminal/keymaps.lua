-- Keys of a terminal buffer in terminal mode. All other keys go to the CLI.
-- The CLI 2.1.329 uses most keys with Ctrl, Meta and Shift, recently also Ctrl-]; it refuses to bind Ctrl-\ because that is a terminal's
-- quit key. Neovim's own escape begins with Ctrl-\, and so does our default.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")

local M = {}

---@param direction "h"|"j"|"k"|"l"
local function to(direction)
  return function()
    vim.cmd.wincmd(direction)
  end
end

---@type { back: fun(), hide: fun() }
local served

---Sets the module that performs the keys' actions.
---@param terminal { back: fun(), hide: fun() }
function M.serve(terminal)
  served = terminal
end

---@type table<string, { run: fun(), desc: string }>
local ACTIONS = {
  back = {
    run = function()
      served.back()
    end,
    desc = "return to the previous window",
  },
  normal = {
    run = function()
      vim.cmd.stopinsert()
    end,
    desc = "go to Normal mode",
  },
  hide = {
    run = function()
      served.hide()
    end,
    desc = "hide the terminal",
  },
  left = { run = to("h"), desc = "go to the window on the left" },
  down = { run = to("j"), desc = "go to the window below" },
  up = { run = to("k"), desc = "go to the window above" },
  right = { run = to("l"), desc = "go to the window on the right" },
}

---@param buf integer
function M.attach(buf)
  for name, keys in pairs(config.get().terminal.keymaps) do
    for _, lhs in ipairs(type(keys) == "table" and keys or { keys or nil }) do
      local action = ACTIONS[name]
      vim.keymap.set("t", lhs, action.run, { buffer = buf, desc = "Claude Code: " .. action.desc })
    end
  end
end

return M
