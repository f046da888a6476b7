-- `:Claude edit`: which lines, and what is wanted of them.
local M = {}

---@param first integer
---@param last integer
---@param what string
---@param buf? integer default: the current one
---@return boolean? ok
---@return string? err
function M.begin(first, last, what, buf)
  return require("claude-ide.inline.edit").start(buf or vim.api.nvim_get_current_buf(), first, last, what)
end

---Asks the user what is wanted.
---@param done fun(what: string)
function M.ask(done)
  vim.ui.input({ prompt = "Edit: " }, function(text)
    if text and vim.trim(text) ~= "" then
      done(vim.trim(text))
    end
  end)
end

---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.run(at)
  if at.rest == "cancel" and not at.range then
    return require("claude-ide.inline.edit").cancel()
  end
  local first, last = require("claude-ide.command.range").lines(at)
  first, last = first or 1, last or vim.api.nvim_buf_line_count(0)
  if at.rest ~= "" then
    return M.begin(first, last, at.rest)
  end
  local buf = vim.api.nvim_get_current_buf()
  M.ask(function(what)
    local ok, err = M.begin(first, last, what, buf)
    if not ok then
      require("claude-ide.ui.kept_words").give_back(what, ((err or "Claude did not start"):gsub("%.$", "")))
    end
  end)
  return true
end

return M
