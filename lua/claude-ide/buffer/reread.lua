-- Tells other plugins that a buffer has a new text from disk, with the event that Neovim's own reload has for it: linters and
-- the like run at BufReadPost. That event stands for opening a file as well, so what belongs to opening must not happen:
-- the cursor stays where it is in every window, and the file's type is not looked for and set up once more.
local M = {}

local OF_OPENING = "FileType,Syntax"

---@param buf integer
---@return fun() restore
local function keep_views(buf)
  local views = {} ---@type table<integer, table>
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return function()
    for win, view in pairs(views) do
      if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
        vim.api.nvim_win_call(win, function()
          if not vim.deep_equal(vim.fn.winsaveview(), view) then
            vim.fn.winrestview(view)
          end
        end)
      end
    end
  end
end

---@param buf integer loaded, unmodified
function M.tell(buf)
  local restore, filetype = keep_views(buf), vim.bo[buf].filetype
  local ok, err ---@type boolean, any
  require("claude-ide.option").without_events(OF_OPENING, function()
    ok, err = pcall(vim.api.nvim_exec_autocmds, "BufReadPost", { buffer = buf, modeline = false })
    if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].filetype ~= filetype then
      vim.bo[buf].filetype = filetype -- what the user chose
    end
  end)
  restore()
  if not ok then
    require("claude-ide.log").warn("a BufReadPost autocommand failed: %s", tostring(err))
  end
end

return M
