-- The buffers and texts of the two sides: the file itself, and what it would be without Claude.
---@class claude-ide.review.sides
local M = {}

---A buffer of ours that stands for no file.
---@param what string
---@param path string
---@return integer buf
function M.make(what, path)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  vim.b[buf].claude_private = true
  vim.diagnostic.enable(false, { bufnr = buf })
  vim.api.nvim_buf_set_name(buf, ("claude://review/%d/%s/%s"):format(buf, what, vim.fs.basename(path)))
  return buf
end

---The buffer that is the file; one of ours where there is none.
---@param entry claude-ide.review.Entry
---@return integer buf
---@return boolean ours
function M.file(entry)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(entry.path)
  if vim.uv.fs_stat(entry.path) or (buf and vim.api.nvim_buf_is_loaded(buf)) then
    buf = buffer.load_hidden(entry.path) or buf
  end
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf, false
  end
  return M.make("deleted", entry.path), true
end

---@param buf integer
---@return boolean
function M.is_ours(buf)
  return vim.startswith(vim.api.nvim_buf_get_name(buf), "claude://review/")
end

---The lines on the side before: what would be there now without Claude.
---@param entry claude-ide.review.Entry
---@param file integer
---@return string[]
function M.lines_before(entry, file)
  if not entry.change then
    return vim.api.nvim_buf_get_lines(file, 0, -1, true)
  end
  local bytes = entry.change.without
  local lines = not M.is_ours(file)
    and require("claude-ide.buffer.format").decode(bytes, require("claude-ide.buffer.disk").decoding(file))
  if not lines then
    local merge = require("claude-ide.journal.merge")
    lines = merge.readable(merge.decode(bytes))
  end
  if bytes:find("\0", 1, true) then
    for i, line in ipairs(lines) do
      lines[i] = line:gsub("\n", "\0")
    end
  end
  return #lines > 0 and lines or { "" }
end

---Gives one of our buffers its text. Only the lines between the first and the last that differ are touched, so that marks
---and highlights on the others stay.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local first, last, last_old = 1, #lines, #old
  while first <= last and first <= last_old and lines[first] == old[first] do
    first = first + 1
  end
  while last >= first and last_old >= first and lines[last] == old[last_old] do
    last, last_old = last - 1, last_old - 1
  end
  vim.bo[buf].modifiable = true
  local whole = first == 1 and last == #lines
  vim.api.nvim_buf_set_lines(
    buf,
    first - 1,
    last_old,
    true,
    whole and lines or vim.list_slice(lines, first, last)
  )
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

return M
