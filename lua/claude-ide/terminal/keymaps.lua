-- Keys of a terminal buffer. All other keys of terminal mode go to the CLI. A buffer's mapping that is there, from an autocommand of the
-- user's, stays.
-- The CLI 2.1.329 uses most keys with Ctrl, Meta and Shift, recently also Ctrl-]; it refuses to bind Ctrl-\ because that is a terminal's
-- quit key. Neovim's own escape begins with Ctrl-\, and so does our default. In its fullscreen mode the CLI 2.1.332 takes clicks and
-- double clicks; with Ctrl it opens hyperlinks. So a click that hits no file is passed on.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local file_link = lazy("claude-ide.ui.file_link")
local screen_files = lazy("claude-ide.terminal.screen_files")

local M = {}

---@param direction "h"|"j"|"k"|"l"
local function to(direction)
  return function()
    vim.cmd.wincmd(direction)
  end
end

---@class claude-ide.terminal.Served
---@field back fun()
---@field hide fun()
---@field of_buffer fun(buf: integer): claude-ide.terminal.Session?

---@type claude-ide.terminal.Served
local served

---Sets the module that performs the keys' actions.
---@param terminal claude-ide.terminal.Served
function M.serve(terminal)
  served = terminal
end

---Folders that a path on a terminal's screen may be relative to.
---@return string[]
local function folders_of(buf)
  local session = served.of_buffer(buf)
  local live = session and session:live()
  local folders = {} ---@type string[]
  folders[#folders + 1] = live and live.cwd
  folders[#folders + 1] = session and session.spec.cwd
  folders[#folders + 1] = vim.fn.getcwd()
  return folders
end

---Opens the file of the last click.
---@type fun()
local open_clicked

---Terminal mode is left before the file is shown.
local OPEN_CLICKED = "<C-\\><C-n><Cmd>lua require('claude-ide.terminal.keymaps').open_clicked()<CR>"

---@param lhs string
---@return string keys that open the file that a click hits; else `lhs`, for the CLI or Neovim
local function click(lhs)
  local buf, mouse = vim.api.nvim_get_current_buf(), vim.fn.getmousepos()
  if mouse.winid == 0 or mouse.line == 0 or vim.api.nvim_win_get_buf(mouse.winid) ~= buf then
    return lhs
  end
  local folders = folders_of(buf)
  local link = screen_files.at(mouse.winid, mouse.line - 1, mouse.column - 1, folders)
  if not link or not file_link.find(link.path, folders) then
    return lhs
  end
  open_clicked = function()
    file_link.open(link, folders, "file_window")
  end
  return OPEN_CLICKED
end

function M.open_clicked()
  open_clicked()
end

---@class claude-ide.terminal.KeyAction
---@field run fun(lhs: string): string? what it returns, with `is_expr`, are keys to be handled instead
---@field desc string
---@field modes? string[] default: terminal mode
---@field is_expr? boolean

---@type table<string, claude-ide.terminal.KeyAction>
local ACTIONS = {
  back = {
    run = function()
      served.back()
    end,
    desc = "return to the previous window",
    modes = { "n", "t" },
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
    modes = { "n", "t" },
  },
  left = { run = to("h"), desc = "go to the window on the left" },
  down = { run = to("j"), desc = "go to the window below" },
  up = { run = to("k"), desc = "go to the window above" },
  right = { run = to("l"), desc = "go to the window on the right" },
  file = {
    run = function()
      local buf, cursor = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)
      local folders = folders_of(buf)
      file_link.open(screen_files.at(0, cursor[1] - 1, cursor[2], folders), folders, "file_window")
    end,
    desc = "open the file under the cursor",
    modes = { "n" },
  },
  file_click = {
    run = click,
    desc = "open the file that is clicked",
    modes = { "n", "t" },
    is_expr = true,
  },
}

---Whether a buffer has a mapping of its own for a key.
local function is_mapped(buf, mode, lhs)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg(lhs, mode, false, true).buffer == 1
  end)
end

---@param buf integer
function M.attach(buf)
  for name, keys in pairs(config.get().terminal.keymaps) do
    local action = ACTIONS[name]
    for _, lhs in ipairs(type(keys) == "table" and keys or { keys or nil }) do
      for _, mode in ipairs(action.modes or { "t" }) do
        if not is_mapped(buf, mode, lhs) then
          vim.keymap.set(mode, lhs, function()
            return action.run(lhs)
          end, { buffer = buf, expr = action.is_expr, desc = "Claude Code: " .. action.desc })
        end
      end
    end
  end
end

return M
