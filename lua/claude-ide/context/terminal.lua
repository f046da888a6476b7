-- `#terminal`: the last lines of the most recently used terminal, except for terminals of agents.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local context_lines = lazy("claude-ide.context.lines")
local terminal = lazy("claude-ide.terminal")

local M = {}

local MOST_LINES = 300

local function is_theirs(buf)
  return vim.bo[buf].buftype == "terminal"
    and buffer_marks.kind(buf) == nil
    and not terminal.of_buffer(buf)
    and not buffer.is_private(buf)
end

---@return integer? buf
local function latest()
  local best, used = nil, -1 ---@type integer?, number
  for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
    local shown = #info.windows > 0 and 1e12 or 0
    if info.lastused + shown > used and is_theirs(info.bufnr) then
      best, used = info.bufnr, info.lastused + shown
    end
  end
  return best
end

---@param _ claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.read(_, _, done)
  local buf = latest()
  if not buf then
    return done(nil, "there is no terminal but Claude's")
  end
  local last = vim.api.nvim_buf_line_count(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, math.max(last - MOST_LINES - vim.o.lines, 0), -1, false)
  while #lines > 0 and vim.trim(lines[#lines]) == "" do
    lines[#lines] = nil
  end
  local most, size = context_lines.MOST_BYTES, 0
  local first = #lines + 1
  while first > math.max(#lines - MOST_LINES, 0) + 1 and size + #lines[first - 1] + 1 <= most do
    first = first - 1
    size = size + #lines[first] + 1
  end
  if first > #lines then
    return done(nil, "the terminal is empty")
  end
  done({ text = table.concat(lines, "\n", first, #lines) })
end

return M
