-- Window options: for the sides of a diff, shared by proposals and reviews; and for windows of ours without the user's columns.
local lazy = require("claude-ide.lazy")
local ui_winbar = lazy("claude-ide.ui.winbar")

local M = {}

---Options that a new window would inherit from the window it splits, possibly a terminal or a file tree.
local FRESH_OPTIONS = {
  "breakindent",
  "colorcolumn",
  "conceallevel",
  "cursorcolumn",
  "cursorline",
  "cursorlineopt",
  "fillchars",
  "foldcolumn",
  "foldenable",
  "foldexpr",
  "foldlevel",
  "foldmethod",
  "foldminlines",
  "foldtext",
  "linebreak",
  "list",
  "listchars",
  "number",
  "numberwidth",
  "relativenumber",
  "scrolloff",
  "showbreak",
  "sidescrolloff",
  "signcolumn",
  "spell",
  "statuscolumn",
  "statusline",
  "virtualedit",
  "winblend",
  "winfixheight",
  "winfixwidth",
  "winhighlight",
  "wrap",
}

---Marks lines that continue outside the window: nothing of a text to be accepted may hide there.
local ENDS = "extends:›,precedes:‹"

local function show_ends(wo)
  local given = wo.list and wo.listchars or "tab:  "
  if not given:find("extends:", 1, true) then
    wo.listchars = given .. "," .. ENDS
  end
  wo.list = true
end

---@type table<integer, true> windows with 'winfixbuf' that was set here
local fixed = {}

local VISITS = { windo = true, tabdo = true }

---Neovim splits a window with 'winfixbuf' before each command that may edit other buffers there, also before those that only visit
---windows: it must not find the option then.
local listen = require("claude-ide.base.once")(function()
  vim.api.nvim_create_autocmd("CmdlineLeave", {
    group = vim.api.nvim_create_augroup("claude-ide.window_options", { clear = true }),
    pattern = ":",
    desc = "Claude Code: leave no further window at `:windo`",
    callback = function()
      local win = vim.api.nvim_get_current_win()
      if vim.v.event.abort or not fixed[win] or not vim.wo[win].winfixbuf then
        return
      end
      local ok, command = pcall(vim.api.nvim_parse_cmd, vim.fn.getcmdline(), {})
      if ok and VISITS[command.cmd] then
        vim.wo[win][0].winfixbuf = false
        vim.schedule(function()
          if vim.api.nvim_win_is_valid(win) and fixed[win] then
            vim.wo[win][0].winfixbuf = true
          end
        end)
      end
    end,
  })
end)

---Shows the text without columns beside it, and without marks of blanks.
---@param win integer
---@return vim.wo options of the window with its buffer, to set others
function M.bare(win)
  local wo = vim.wo[win][0]
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.statuscolumn, wo.colorcolumn, wo.list = "", "", false
  return wo
end

---Gives a new window the user's global options, and a winbar.
---@param win integer
---@param winbar? string default: set later
function M.window(win, winbar)
  local wo = vim.wo[win][0]
  wo.diff, wo.scrollbind, wo.cursorbind = false, false, false
  local floats = vim.api.nvim_win_get_config(win).relative ~= ""
  for _, option in ipairs(FRESH_OPTIONS) do
    -- Since 0.12 a floating window with this option has a status line.
    if not (floats and option == "statusline") then
      wo[option] = vim.go[option]
    end
  end
  show_ends(wo)
  if winbar then
    ui_winbar.hold(win, winbar)
  end
  local groups = {}
  if floats then
    groups = { "NormalFloat:Normal", "FloatBorder:WinSeparator" }
  end
  if vim.fn.has("nvim-0.11") == 0 then
    -- Before 0.11 the groups of a winbar are not combined with its background: no background rather than patches.
    vim.list_extend(groups, { "WinBar:Normal", "WinBarNC:Normal" })
  end
  if #groups > 0 then
    wo.winhighlight = table.concat(groups, ",")
  end
  -- A picker or a file tree must not put a file where the proposal is.
  wo.winfixbuf = true
  for known in pairs(fixed) do
    fixed[known] = vim.api.nvim_win_is_valid(known) or nil
  end
  fixed[win] = true
  listen()
end

---Other options that a diff sets in a window.
local DIFF_OPTIONS = { "cursorbind", "diff", "scrollbind", "winfixbuf" }

---Saves a window's options. Neovim remembers them with the buffer for the next window, so a user's buffer must leave with its
---own.
---@param win integer
---@return table<string, any>
function M.remember(win)
  local saved = {}
  for _, options in ipairs({ FRESH_OPTIONS, DIFF_OPTIONS }) do
    for _, option in ipairs(options) do
      saved[option] = vim.wo[win][option]
    end
  end
  return saved
end

---@param win integer
---@param saved table<string, any>
function M.put_back(win, saved)
  for option, value in pairs(saved) do
    vim.wo[win][0][option] = value
  end
end

return M
