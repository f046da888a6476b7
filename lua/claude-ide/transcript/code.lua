-- Yanks code of a transcript, without fences and indent.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local notice = lazy("claude-ide.base.notice")
local offscreen = lazy("claude-ide.transcript.offscreen")
local pieces = lazy("claude-ide.transcript.pieces")
local targets = lazy("claude-ide.transcript.targets")

local M = {}

---Rows of one text that are searched in each direction.
local MOST = 512

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

---@param code string
---@return string[]
local function lines_of(code)
  local text = code:gsub("\r\n", "\n"):gsub("%z", "^@"):gsub("%s+$", "")
  return vim.split(text, "\n", { plain = true })
end

---The command of a call, or what an edit wrote.
---@param item claude-ide.transcript.Item
---@return string[]?
local function of_call(item)
  if not item.edit then
    return item.code and lines_of(item.code)
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
---@return boolean from_before it begins in an earlier row
---@return boolean goes_on it ends in a later row
function M.at(item, offset)
  local prose = prose_at(item, offset)
  if not prose or (prose.language ~= "markdown" and prose.language ~= "prompt") then
    return item.kind == "tool" and of_call(item) or nil, false, false
  end
  local lines = {}
  for at = prose.row + 1, prose.row + prose.count do
    lines[#lines + 1] = item.lines[at]:sub(prose.indent + 1)
  end
  local row = offset - prose.row
  local block = prose.fence and {} or nil ---@type string[]? the open code block
  local from_before = block ~= nil
  for _, piece in ipairs(pieces.of(lines, prose.language, prose.fence)) do
    if not piece.fence then
      vim.list_extend(block or {}, piece.lines)
    elseif block and row <= piece.row then
      return block, from_before, false
    elseif block then
      block, from_before = nil, false
    elseif row < piece.row then
      return nil, false, false -- it begins below
    else
      block = {}
    end
  end
  return block, from_before, block ~= nil
end

---The rows that make up the text of a row.
---@param rows claude-ide.sessions.Row[]
---@param at integer index, from 1
---@return integer first
---@return integer last
local function text_around(rows, at)
  local first, last = at, at
  while first > 1 and rows[first].continues do
    first = first - 1
  end
  while rows[last + 1] and rows[last + 1].continues do
    last = last + 1
  end
  return first, last
end

---@param items table<integer, claude-ide.transcript.Item[]> by row
---@param row integer
---@return claude-ide.transcript.Item? nil: only empty lines
local function text_of(items, row)
  return items[row][#items[row]]
end

---@param items table<integer, claude-ide.transcript.Item[]> by row
---@param row integer to start from
---@param offset integer
---@return string[]
local function put_together(items, row, offset)
  local item = text_of(items, row) --[[@as claude-ide.transcript.Item]]
  local code, from_before, goes_on = M.at(item, offset)
  local all = { code or {} }
  local before, after = row - 1, row + 1
  while from_before and items[before] do
    local above = text_of(items, before)
    if above then
      local lines
      lines, from_before = M.at(above, #above.lines - 1)
      table.insert(all, 1, lines or {})
    end
    before = before - 1
  end
  while goes_on and items[after] do
    local below = text_of(items, after)
    if below then
      local lines, _, continues = M.at(below, 0)
      all[#all + 1], goes_on = lines or {}, continues
    end
    after = after + 1
  end
  return vim.iter(all):flatten():totable()
end

---Code that spans several rows, because it is long.
---@param view claude-ide.transcript.View
---@param row integer
---@param offset integer of the line in the row
---@param done fun(lines: string[])
local function of_rows(view, row, offset, done)
  local from = math.max(row - MOST, 0)
  view.source:rows(from, row - from + MOST, function(rows)
    if not rows or not rows[row - from + 1] then
      return
    end
    local first, last = text_around(rows, row - from + 1)
    local items, missing = {}, {}
    for each = from + first - 1, from + last - 1 do
      local rendered = view.canvas.rows[each]
      items[each] = rendered and rendered.items
      missing[#missing + 1] = not rendered and each or nil
    end
    offscreen.visit(view, missing, function(each, of_row)
      items[each] = of_row
    end, function(finished)
      if finished then
        done(put_together(items, row, offset))
      end
    end)
  end)
end

---@param lines? string[]
---@param register string
local function into_register(lines, register)
  if not lines or #lines == 0 then
    notice.info("There is no code here.")
    return
  end
  vim.fn.setreg(register, lines, "V")
  notice.info(("%s of code yanked."):format(counted(#lines, "line")))
end

---The command of a call, if only its beginning is shown.
---@param item claude-ide.transcript.Item
---@return claude-ide.transcript.Target?
local function cut_command(item)
  return vim.iter(item.targets):find(function(target)
    return target.type == "more" and target.argument == "command"
  end)
end

---@param view claude-ide.transcript.View
function M.yank(view)
  local spot, item = view.canvas:spot(vim.api.nvim_win_get_cursor(0)[1])
  local register = vim.v.register -- now: reading rows is asynchronous
  if not item then
    return into_register(nil, register)
  end
  local lines, from_before, goes_on = M.at(item, spot.offset)
  local next_row = view.known[spot.row + 1] -- nil: not read yet, or the end
  local may_go_on = goes_on
    and spot.row + 1 < view.canvas.heights:len()
    and (not next_row or next_row.continues)
  local is_part = lines and (from_before or may_go_on)
  local cut = not lines and cut_command(item)
  if not is_part and not cut then
    return into_register(lines, register)
  end
  local is_newest = offscreen.watch_register(view, register)
  local function done(all)
    if is_newest() then
      into_register(all, register)
    end
  end
  if cut then
    targets.read_more(view, cut, function(block)
      done(lines_of(block.input.command))
    end)
  else
    of_rows(view, spot.row, spot.offset, done)
  end
end

return M
