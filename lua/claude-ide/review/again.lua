-- `u` after an undo in a review. The undo was written, so what `u` and `CTRL-R` make of it is written as well: file and buffer
-- go together. Only texts that were in the file before are written, and only into a file that nobody else has changed.
local M = {}

local GROUP = "claude-ide.review.again"

---@type table<integer, table<integer, string>> by buffer: state of the undo tree → the text that was in the file then
local written = {}

---@param buf integer
---@return integer state of the undo tree
---@return string text
local function state_of(buf)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.undotree().seq_cur
  end),
    table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
end

local function follow(buf)
  if not vim.bo[buf].modified or require("claude-ide.buffer.stamp").is_conflict(buf) then
    return
  end
  local state, text = state_of(buf)
  if written[buf][state] == text then
    local ok, err = require("claude-ide.journal.write").save(buf)
    if not ok then
      require("claude-ide.log").warn("what `u` brought back was not written: %s", err)
    end
  end
end

local function watch(buf)
  local group = vim.api.nvim_create_augroup(("%s.%d"):format(GROUP, buf), { clear = true })
  vim.api.nvim_create_autocmd("TextChanged", {
    group = group,
    buffer = buf,
    nested = true, -- the journal and others follow what is written
    desc = "Claude Code: what `u` brings back after an undo is written",
    callback = function()
      follow(buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: the history of a buffer goes with its text",
    callback = function()
      written[buf] = nil
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
end

---@param path string
---@return integer? buf whose text is that of the file
local function in_step(path)
  local buf = require("claude-ide.buffer").find(path)
  local same = buf and vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified and vim.uv.fs_stat(path)
  return same and buf or nil
end

---Undoes something in a file, and remembers both texts.
---@generic T
---@param path string
---@param undo fun(): T?, string?, integer?
---@return T?
---@return string?
---@return integer?
function M.around(path, undo)
  local buf = in_step(path)
  local before, before_text
  if buf then
    before, before_text = state_of(buf)
  end
  local ok, err, left = undo()
  if ok and buf and in_step(path) == buf then
    local after, after_text = state_of(buf)
    if not written[buf] then
      written[buf] = {}
      watch(buf)
    end
    written[buf][before], written[buf][after] = before_text, after_text
  end
  return ok, err, left
end

return M
