-- Code of a transcript, to be yanked: without the fences and the indent that it has there.

local M = {}

---@param item claude-ide.transcript.Item
---@param offset integer
---@return claude-ide.transcript.Prose?
local function prose_at(item, offset)
  for _, prose in ipairs(item.prose) do
    if offset >= prose.row and offset < prose.row + prose.count then
      return prose
    end
  end
  return nil
end

---The command of a call, or what an edit wrote.
---@param item claude-ide.transcript.Item
---@return string[]?
local function of_call(item)
  if not item.edit then
    return item.code
  end
  local lines = {}
  for _, line in ipairs(item.lines) do
    lines[#lines + 1] = line:match("^    [+](.*)$") or line:match("^     (.*)$")
  end
  return lines
end

---The code at a line of an item. Pure.
---@param item claude-ide.transcript.Item
---@param offset integer of the line, from 0
---@return string[]?
function M.at(item, offset)
  local prose = prose_at(item, offset)
  if not prose or (prose.language ~= "markdown" and prose.language ~= "prompt") then
    return item.kind == "tool" and of_call(item) or nil
  end
  local lines = {}
  for at = prose.row + 1, prose.row + prose.count do
    lines[#lines + 1] = item.lines[at]:sub(prose.indent + 1)
  end
  local row = offset - prose.row
  local block ---@type string[]? of the fence that is open
  for _, piece in ipairs(require("claude-ide.transcript.pieces").of(lines, prose.language)) do
    if not piece.fence then
      vim.list_extend(block or {}, piece.lines)
    elseif block and row <= piece.row then
      return block
    elseif block then
      block = nil
    elseif row < piece.row then
      return nil -- it begins below
    else
      block = {}
    end
  end
  return block
end

---@param view claude-ide.transcript.View
function M.yank(view)
  local spot, item = view.canvas:spot(vim.api.nvim_win_get_cursor(0)[1])
  local lines = item and M.at(item, spot.offset)
  if not lines or #lines == 0 then
    require("claude-ide.ui.notice").info("There is no code here.")
    return
  end
  vim.fn.setreg(vim.v.register, lines, "V")
  local count = #lines == 1 and "1 line" or ("%d lines"):format(#lines)
  require("claude-ide.ui.notice").info(("%s of code yanked."):format(count))
end

return M
