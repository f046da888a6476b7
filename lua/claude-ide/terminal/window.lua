-- Windows a terminal can stand in: which there are, how they look, what happens to the last one.

local M = {}

---The windows of a tab page that are no floats.
---@param tab integer 0 for the current one
---@return integer[]
function M.splits(tab)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ""
  end, vim.api.nvim_tabpage_list_wins(tab))
end

---The windows of the current tab page that show the buffer.
---@param buf integer
---@return integer[]
function M.here(buf)
  local tab = vim.api.nvim_get_current_tabpage()
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_tabpage(win) == tab
  end, vim.fn.win_findbuf(buf))
end

---Whether Neovim would be left without a window that is no float.
---@param win integer
---@return boolean
function M.is_last(win)
  local splits = M.splits(vim.api.nvim_win_get_tabpage(win))
  return #vim.api.nvim_list_tabpages() == 1 and #splits == 1 and splits[1] == win
end

---The last window cannot be closed: it shows another buffer instead.
---@param win integer
function M.vacate(win)
  local alternate = vim.fn.bufnr("#")
  if alternate < 1 or not vim.bo[alternate].buflisted then
    alternate = vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
      return vim.bo[buf].buflisted
    end) or vim.api.nvim_create_buf(true, false)
  end
  vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false
  vim.api.nvim_win_set_buf(win, alternate)
end

---What has no meaning beside a terminal's screen.
---@param win integer
function M.dress(win)
  local options = {
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    statuscolumn = "",
    colorcolumn = "",
    cursorline = false,
    cursorcolumn = false,
    list = false,
    spell = false,
    wrap = false,
    scrolloff = 0,
    sidescrolloff = 0,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = win })
  end
end

return M
