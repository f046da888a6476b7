-- Parses fenced code blocks line by line. Pure.
local M = {}

---An open code block.
---@class claude-ide.transcript.Fence
---@field mark string that opened it
---@field language string

---@param open? claude-ide.transcript.Fence before the line
---@param line string
---@return claude-ide.transcript.Fence? open after it
---@return boolean is_mark the line opens or closes a block
function M.after(open, line)
  local mark, info = line:match("^%s*(```+)%s*([^`]*)$")
  if not mark then
    mark, info = line:match("^%s*(~~~+)%s*(.*)$")
  end
  if not mark then
    return open, false
  elseif not open then
    return { mark = mark, language = ((info or ""):match("^[%w_+#-]+") or ""):lower() }, true
  elseif info == "" and #mark >= #open.mark and mark:sub(1, 1) == open.mark:sub(1, 1) then
    return nil, true
  end
  return open, false
end

return M
