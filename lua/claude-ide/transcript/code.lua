-- Yanks code of a transcript, without fences and indent.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local notice = lazy("claude-ide.base.notice")
local pieces = lazy("claude-ide.transcript.pieces")
local targets = lazy("claude-ide.transcript.targets")

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

---The text of a row. The canvas has all rows of a text.
---@param canvas claude-ide.transcript.Canvas
---@param row integer
---@return claude-ide.transcript.Item? nil: only empty lines
local function text_of(canvas, row)
  local items = canvas.rows[row].items
  return items[#items]
end

---Code that spans several rows, because it is long.
---@param canvas claude-ide.transcript.Canvas
---@param row integer to start from
---@param offset integer
---@return string[]?
local function of_rows(canvas, row, offset)
  local item = text_of(canvas, row) --[[@as claude-ide.transcript.Item]]
  local code, from_before, goes_on = M.at(item, offset)
  local all = { code }
  local before, after = row - 1, row + 1
  while from_before and canvas.rows[before] do
    local above = text_of(canvas, before)
    if above then
      local lines
      lines, from_before = M.at(above, #above.lines - 1)
      table.insert(all, 1, lines or {})
    end
    before = before - 1
  end
  while goes_on and canvas.rows[after] and canvas.rows[after].row.continues do
    local below = text_of(canvas, after)
    if below then
      local lines, _, continues = M.at(below, 0)
      all[#all + 1], goes_on = lines or {}, continues
    end
    after = after + 1
  end
  return code and vim.iter(all):flatten():totable()
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

---Tracks whether the register is overwritten before the text of a yank arrives; the newer content stays.
---@param view claude-ide.transcript.View
---@param register string
---@return fun(): boolean is_newest call once, when it arrives
local function watch_register(view, register)
  local is_newest = true
  local autocmd = vim.api.nvim_create_autocmd("TextYankPost", {
    group = "claude-ide.transcript." .. view.buf,
    desc = "Claude Code: keep later yanks",
    callback = function()
      local other = vim.v.event.regname
      is_newest = is_newest and (other == "_" or other ~= register and register ~= '"')
    end,
  })
  return function()
    pcall(vim.api.nvim_del_autocmd, autocmd)
    return is_newest
  end
end

---@param view claude-ide.transcript.View
function M.yank(view)
  local spot, item = view.canvas:spot(vim.api.nvim_win_get_cursor(0)[1])
  local register = vim.v.register -- now: reading a message is asynchronous
  if not item then
    return into_register(nil, register)
  end
  local lines, from_before, goes_on = M.at(item, spot.offset)
  if lines and (from_before or goes_on) then
    lines = of_rows(view.canvas, spot.row, spot.offset)
  end
  local cut = not lines and cut_command(item)
  if not cut then
    return into_register(lines, register)
  end
  local is_newest = watch_register(view, register)
  targets.read_more(view, cut, function(block)
    if is_newest() then
      into_register(lines_of(block.input.command), register)
    end
  end)
end

return M
