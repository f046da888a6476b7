-- A diff in floats: a frame in the middle of the screen with one or two windows, which share the line between them.
local lazy = require("claude-ide.lazy")
local layout = lazy("claude-ide.ui.diffview.layout")
local path = lazy("claude-ide.base.path")
local ui_border = lazy("claude-ide.ui.border")
local window = lazy("claude-ide.base.window")

---@type claude-ide.diffview.Place
---@diagnostic disable-next-line: missing-fields -- the functions follow
local M = { shared = true }

---Below pickers, menus and hints.
local ZINDEX = 40

---Share of the screen, and the minimum screen size to leave space around.
local WIDTH, HEIGHT = 0.9, 0.88
local ROOMY_COLUMNS, ROOMY_LINES = 100, 30

---Neovim requires a line in addition to 'winbar' (E36).
local MIN_HEIGHT = 2

---Characters of a frame: corners and sides clockwise from the top left, then joints.
local FRAMES = {
  rounded = { "╭", "─", "╮", "│", "╯", "─", "╰", "│", "┬", "┴", "├", "┤" },
  single = { "┌", "─", "┐", "│", "┘", "─", "└", "│", "┬", "┴", "├", "┤" },
  double = { "╔", "═", "╗", "║", "╝", "═", "╚", "║", "╦", "╩", "╠", "╣" },
  solid = { " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " " },
  bold = { "┏", "━", "┓", "┃", "┛", "━", "┗", "┃", "┳", "┻", "┣", "┫" },
}

---@return string[]
local function frame()
  local wanted = ui_border()
  if type(wanted) == "table" and #wanted == 8 then
    -- Of the joints such a border says nothing: the sides go on.
    return vim.list_extend(vim.list_slice(wanted), { wanted[2], wanted[6], wanted[8], wanted[4] })
  end
  return FRAMES[wanted] or FRAMES.rounded
end

---The area inside the frame.
---@return { row: integer, col: integer, width: integer, height: integer }
local function room()
  local tabs = (vim.o.showtabline == 2 or vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1) and 1
    or 0
  local lines = vim.o.lines - vim.o.cmdheight - tabs - (vim.o.laststatus > 0 and 1 or 0)
  local columns = vim.o.columns
  local width = columns >= ROOMY_COLUMNS and math.floor(columns * WIDTH) or columns
  local height = lines >= ROOMY_LINES and math.floor(lines * HEIGHT) or lines
  width, height = math.max(width - 2, 3), math.max(height - 2, 3)
  return {
    row = tabs + math.floor((lines - height - 2) / 2),
    col = math.floor((columns - width - 2) / 2),
    width = width,
    height = height,
  }
end

---The end of the file's path that fits.
---@param view claude-ide.diffview.View
---@param width integer
---@return table[] chunks
local function title(view, width)
  local name = vim.fn.strtrans(path.short(view.path))
  local shown = name
  while vim.fn.strdisplaywidth(shown) > math.max(width - 20, 8) do
    local rest = shown:match("^…?/?[^/]+(/.+)$")
    if not rest then
      shown = vim.fs.basename(name)
      break
    end
    shown = "…" .. rest
  end
  local text = " Claude · " .. shown .. " "
  if vim.fn.strdisplaywidth(text) > width then
    text = " Claude "
  end
  return { { text, "ClaudeDiffFile" } }
end

---@param view claude-ide.diffview.View
---@return table<"list"|claude-ide.diffview.Side, vim.api.keyset.win_config>
local function configs(view)
  local at, f = room(), frame()
  local direction = not view.one_window and layout.get(view.layout).direction
  local is_first = direction == "left" or direction == "above"
  local one, other = is_first and "left" or "right", is_first and "right" or "left"
  ---@param row integer within the frame
  ---@param col integer
  ---@param width integer
  ---@param height integer
  ---@param border string[]
  ---@return vim.api.keyset.win_config
  local function config(row, col, width, height, border)
    return {
      relative = "editor",
      row = at.row + row,
      col = at.col + col,
      width = math.max(width, 1),
      height = math.max(height, MIN_HEIGHT),
      border = border,
      zindex = ZINDEX,
    }
  end
  local found, from = {}, 0
  if view.list then
    -- The windows to the right have no left border: they share the list's right one.
    local width = math.min(view.list_width(), math.floor(at.width / 3))
    found.list = config(0, 0, width, at.height, { f[1], f[2], f[9], f[4], f[10], f[6], f[7], f[8] })
    from, at.width = width + 2, at.width - width - 1
    f = { "", f[2], f[3], f[4], f[5], f[6], "", "", f[9], f[10], "", f[12] }
  end
  if not direction then
    found.right = config(0, from, at.width, at.height, { f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] })
  elseif layout.is_beside(direction) then
    local left = math.floor((at.width - 1) / 2)
    local right = from + left + (from > 0 and 1 or 2)
    found[one] = config(0, from, left, at.height, { f[1], f[2], f[9], f[4], f[10], f[6], f[7], f[8] })
    found[other] =
      config(0, right, at.width - 1 - left, at.height, { "", f[2], f[3], f[4], f[5], f[6], "", "" })
  else
    local top, below = math.floor((at.height - 1) / 2), { "", "", "", f[4], f[5], f[6], f[7], f[8] }
    found[one] = config(0, from, at.width, top, { f[1], f[2], f[3], f[4], f[12], f[6], f[11], f[8] })
    found[other] = config(top + 2, from, at.width, at.height - 1 - top, below)
  end
  local named = found.list or direction and found[one] or found.right
  named.title, named.title_pos = title(view, named.width or 1), "left"
  return found
end

function M.open(view)
  view.tab = vim.api.nvim_get_current_tabpage()
  local found = configs(view)
  view.wins.right = vim.api.nvim_open_win(view.bufs.right, true, found.right)
  if view.list then
    view.wins.list = vim.api.nvim_open_win(view.list, false, found.list)
  end
end

function M.open_left(view)
  return vim.api.nvim_open_win(view.bufs.left, false, configs(view).left)
end

function M.fit(view)
  for side, config in pairs(configs(view)) do
    local win = view.wins[side]
    if win and vim.api.nvim_win_is_valid(win) then
      if not config.title then
        config.title = "" -- replaces the title of another layout
      end
      vim.api.nvim_win_set_config(win, config)
    end
  end
end

function M.close(view)
  window.close_all(vim.tbl_values(view.wins))
end

return M
