-- How a window that shows a side of a diff looks, whatever window it was made from. Shared by proposals and reviews.
local M = {}

---What a new window would else take over from the one it is made from, be that a terminal or a file tree.
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

---What says that a line goes on beyond the window: of a text that is to be accepted, nothing hides there.
local ENDS = "extends:›,precedes:‹"

local function show_ends(wo)
  local given = wo.list and wo.listchars or "tab:  "
  if not given:find("extends:", 1, true) then
    wo.listchars = given .. "," .. ENDS
  end
  wo.list = true
end

---Gives a new window the user's own options, and a line above it. It keeps its buffer.
---@param win integer
---@param winbar? string default: it comes later
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
    require("claude-ide.ui.winbar").hold(win, winbar)
  end
  local groups = {}
  if floats then
    groups = { "NormalFloat:Normal", "FloatBorder:WinSeparator" }
  end
  if vim.fn.has("nvim-0.11") == 0 then
    -- Older ones do not lay the groups of a winbar over its own background: no background then, rather than patches.
    vim.list_extend(groups, { "WinBar:Normal", "WinBarNC:Normal" })
  end
  if #groups > 0 then
    wo.winhighlight = table.concat(groups, ",")
  end
  -- A picker or a file tree must not put a file where the proposal is.
  wo.winfixbuf = true
end

---What else a diff sets in a window.
local DIFF_OPTIONS = { "cursorbind", "diff", "scrollbind", "winfixbuf" }

---The options of a window, as its buffer brought them. Neovim remembers them with the buffer for the next window, so a
---buffer of the user's must leave with what it came with.
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
