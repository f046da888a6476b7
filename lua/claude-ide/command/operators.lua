-- The operators `<Plug>(claude-edit-operator)`, `<Plug>(claude-send-operator)` and `<Plug>(claude-comment)`: a motion selects the lines.
-- `.` repeats with the lines of its own motion and the same instruction.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local mention = lazy("claude-ide.context.mention")
local notice = lazy("claude-ide.base.notice")
local prompts = lazy("claude-ide.command.prompts")
local server = lazy("claude-ide.server")

local M = {}

---Last instruction, for `.`.
local last_words ---@type string?
---Whether the operator was called by its key, not by `.`.
local is_called = false

---For an <expr> mapping.
---@param name "edit"|"send"|"comment"
---@return string keys
function M.keys(name)
  is_called = true
  vim.o.operatorfunc = ("v:lua.require'claude-ide.command.operators'.operate_%s"):format(name)
  return "g@"
end

local function notify(ok, err)
  if not ok and err then
    notice.error(err)
  end
end

---@return integer first
---@return integer last
local function moved_over()
  return vim.api.nvim_buf_get_mark(0, "[")[1], vim.api.nvim_buf_get_mark(0, "]")[1]
end

---'operatorfunc': edits these lines.
function M.operate_edit()
  require("claude-ide.app")
  local first, last = moved_over()
  local again = not is_called and last_words or ""
  is_called = false
  notify(prompts.edit_lines(again, first, last, function(what)
    last_words = what
  end))
end

---'operatorfunc': mentions these lines.
function M.operate_send()
  require("claude-ide.app")
  is_called = false
  local first, last = moved_over()
  local ok, err = server.start()
  if not ok then
    return notify(nil, err)
  end
  notify(mention.send_range(first, last))
end

---'operatorfunc': comments on these lines.
function M.operate_comment()
  require("claude-ide.app")
  is_called = false
  comments.operate()
end

---Comments on this line, or on as many as the count says.
function M.comment_lines()
  require("claude-ide.app")
  comments.run("line")
end

return M
