-- Finds the window and file that the user works in while they write to an agent.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local privacy = lazy("claude-ide.server.privacy")

local M = {}

---@class claude-ide.context.At
---@field win? integer window of the file
---@field buf? integer the file
---@field cwd string of the agent

---Whether a buffer is a user's text: a file, or not named yet.
local function is_text(buf)
  if privacy.verdict(buf) ~= "elsewhere" then
    return true
  end
  local is_plain = vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) == ""
  return is_plain and (vim.bo[buf].modified or vim.api.nvim_buf_line_count(buf) > 1)
end

---The file that the user means: of the current window, the previous one, or any other of the tab page.
---@param cwd string
---@return claude-ide.context.At
function M.here(cwd)
  local wins = vim.api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, vim.fn.win_getid(vim.fn.winnr("#")))
  table.insert(wins, 1, vim.api.nvim_get_current_win())
  for _, win in ipairs(wins) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    if buf and is_text(buf) then
      return { win = win, buf = buf, cwd = cwd }
    end
  end
  return { cwd = cwd }
end

---Why a buffer is withheld.
---@param buf integer
---@return string?
function M.withheld(buf)
  if privacy.verdict(buf) == "private" or buffer.is_private(buf) then
    return vim.fs.basename(vim.api.nvim_buf_get_name(buf)) .. " is private (selection.deny)"
  end
end

---A buffer's name for the agent.
---@param buf integer
---@return string
function M.name(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= "" and name or ("unnamed buffer %d"):format(buf)
end

return M
