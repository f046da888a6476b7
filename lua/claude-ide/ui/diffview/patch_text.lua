-- Formats two texts as a unified diff, for Claude, other programs and the page.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local file = lazy("claude-ide.base.file")
local hunk = lazy("claude-ide.base.hunk")
local position = lazy("claude-ide.base.position")

local M = {}

---Longer texts are not compared: it would block Neovim.
local MAX_BYTES = 256 * 1024

local function shown(text)
  text = position.valid(text):gsub("\r\n", "\n")
  return text
end

---@param old string
---@param new string
---@param context? integer lines around a change; default: 3
---@return string? diff nil: too long
function M.of(old, new, context)
  if #old > MAX_BYTES or #new > MAX_BYTES then
    return nil
  end
  local diff = hunk.xdiff(shown(old), shown(new), { ctxlen = context or 3 })
  return type(diff) == "string" and diff or ""
end

---The text of a file to compare.
---@param path string
---@return string? bytes "": no such file; nil: too long, or it cannot be read
function M.on_disk(path)
  local bytes, why_not = file.read_now(path, MAX_BYTES)
  return bytes or why_not == "missing" and "" or nil
end

---The unsaved changes of a buffer.
---@param buf integer
---@param context? integer
---@return string? diff nil: too long
function M.of_unsaved(buf, context)
  local size = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  local disk = size <= MAX_BYTES and M.on_disk(vim.api.nvim_buf_get_name(buf))
  local saved = disk and buffer_bytes.text(disk)
  return saved and M.of(saved, buffer.text(buf), context) or nil
end

return M
