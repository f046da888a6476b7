-- Operators: a motion says which lines. `.` does it again, for the lines that its motion then covers and with the same words.
local M = {}

---What was wanted of the last lines, for `.`.
local last_words ---@type string?
---Whether the operator was called by its key, not by `.`.
local is_called = false

---For an <expr> mapping.
---@param name "edit"|"send"
---@return string keys
function M.keys(name)
  is_called = true
  vim.o.operatorfunc = ("v:lua.require'claude-ide.command.operator'.%s"):format(name)
  return "g@"
end

---@return integer first
---@return integer last
local function lines()
  return vim.api.nvim_buf_get_mark(0, "[")[1], vim.api.nvim_buf_get_mark(0, "]")[1]
end

---@param err? string
local function say(ok, err)
  if not ok and err then
    require("claude-ide.ui.notice").error(err)
  end
end

---'operatorfunc': an edit of these lines.
function M.edit()
  require("claude-ide.app")
  local first, last = lines()
  local buf, command = vim.api.nvim_get_current_buf(), require("claude-ide.command.edit")
  if not is_called and last_words then
    return say(command.begin(first, last, last_words, buf))
  end
  is_called = false
  command.ask(function(what)
    last_words = what
    local ok, err = command.begin(first, last, what, buf)
    if not ok then
      require("claude-ide.ui.kept_words").give_back(what, ((err or "Claude did not start"):gsub("%.$", "")))
    end
  end)
end

---'operatorfunc': a mention of these lines.
function M.send()
  require("claude-ide.app")
  is_called = false
  local first, last = lines()
  local ok, err = require("claude-ide.server").start()
  if not ok then
    return say(nil, err)
  end
  say(require("claude-ide.mention").send_range(first, last))
end

return M
