-- A text that goes on: what is added costs the lines that it changes, however long the message is.

local M = {}

---Shows what was added to the last text of the last message.
---@param view claude-ide.transcript.View
---@param added string
---@param bytes integer of the text with it
---@return boolean shown false: the message is to be rendered again
function M.show(view, added, bytes)
  local canvas, source = view.canvas, view.source
  local row = canvas.heights:len() - 1
  local rendered = canvas.rows[row]
  local item = rendered and rendered.items[#rendered.items]
  local before = item and item.open_end
  if
    not item
    or not before
    or rendered.stale
    or bytes > source.max_text
    or before.bytes + #added ~= bytes
  then
    return false
  end
  local grown = require("claude-ide.native").render_growth(before.tail, added)
  local lines, replaced = grown and grown.lines or {}, #item.lines - before.first
  if not grown or #lines < replaced or before.first + #lines > source.max_lines then
    return false
  end
  canvas:edit(function()
    canvas:extend(row, before.first, lines)
  end)
  local prose = item.prose[1]
  item.open_end = { first = before.first + grown.first, tail = grown.tail, bytes = bytes }
  prose.count = #item.lines
  require("claude-ide.transcript.painter").went_on(view, row, item, prose)
  require("claude-ide.transcript.loader").colour(view)
  return true
end

return M
