-- Renders messages that are not in the buffer's text, for searches, yanks and `:write`, which would otherwise see empty lines.
-- Works in time slices so that no key waits; stops silently when the transcript is closed or replaced.

local slice = require("claude-ide.base.slice")
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local render = lazy("claude-ide.transcript.render")
local safely = lazy("claude-ide.base.safely")

local M = {}

---Rows per request.
local ROWS = 64

---@param view claude-ide.transcript.View
---@return boolean whether any row is not rendered
function M.has_gaps(view)
  return view.canvas.count < view.canvas.heights:len()
end

---@class claude-ide.transcript.Visit
---@field view claude-ide.transcript.View
---@field rows integer[] to render, in order
---@field at integer
---@field visit fun(row: integer, items: claude-ide.transcript.Item[]): boolean?
---@field done fun(finished: boolean)
---@field generation integer
---@field over boolean

---@param visit claude-ide.transcript.Visit
---@param finished boolean
local function finish(visit, finished)
  if not visit.over then
    visit.over = true
    visit.done(finished)
  end
end

---@param visit claude-ide.transcript.Visit
---@return boolean
local function is_void(visit)
  local view = visit.view
  if view.closed or visit.generation ~= view.generation then
    finish(visit, false)
  end
  return visit.over
end

local ask ---@type fun(visit: claude-ide.transcript.Visit)

---@param visit claude-ide.transcript.Visit
---@param drawn table<integer, claude-ide.transcript.Drawn> by row
local function give(visit, drawn)
  local is_over = slice.begin()
  local one = drawn[visit.rows[visit.at]]
  while one do
    visit.at = visit.at + 1
    if visit.visit(visit.rows[visit.at - 1], one.items) then
      return finish(visit, true)
    end
    one = drawn[visit.rows[visit.at]]
    if is_over() then
      break
    end
  end
  slice.later(function()
    if is_void(visit) then
      return
    elseif one then
      give(visit, drawn)
    else
      ask(visit)
    end
  end)
end

---@param visit claude-ide.transcript.Visit
function ask(visit)
  local rows = vim.list_slice(visit.rows, visit.at, visit.at + ROWS - 1)
  if #rows == 0 then
    return finish(visit, true)
  end
  render.draw(visit.view, rows, function(drawn)
    if is_void(visit) then
      return
    elseif not drawn then
      return finish(visit, false)
    end
    drawn[rows[1]] = drawn[rows[1]] or { items = {} } -- no such row
    give(visit, drawn)
  end)
end

---Renders rows in order.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@param visit fun(row: integer, items: claude-ide.transcript.Item[]): boolean? true: stop
---@param done fun(finished: boolean) not called after `cancel`
---@return fun() cancel
function M.visit(view, rows, visit, done)
  local state = {
    view = view,
    rows = rows,
    at = 1,
    visit = safely.wrap("look at a message", visit),
    done = safely.wrap("end a look at messages", done),
    generation = view.generation,
    over = false,
  }
  ask(state)
  return function()
    state.over = true
  end
end

---Adds the text of messages that are not rendered to lines of the buffer.
---@param view claude-ide.transcript.View
---@param first integer first line, from 1
---@param lines string[] the buffer's lines, or parts of them
---@param done fun(lines: string[]?) nil: the transcript is gone. Called at once if nothing is missing
function M.fill(view, first, lines, done)
  local canvas, at, pieces, missing, of_row = view.canvas, 1, {}, {}, {}
  while at <= #lines do
    local row, offset = canvas.heights:at(first + at - 2)
    local is_row = canvas.heights:len() > 0 and first + at - 2 < canvas.heights:before(canvas.heights:len())
    if is_row and not canvas.rows[row] then
      pieces[#pieces + 1] = {}
      missing[#missing + 1], of_row[row] = row, #pieces
      at = at + 1
    else
      local count = is_row and canvas.heights:get(row) - offset or 1
      pieces[#pieces + 1] = vim.list_slice(lines, at, math.min(at + count - 1, #lines))
      at = at + math.max(count, 1)
    end
  end
  local function all()
    local text = {}
    for _, piece in ipairs(pieces) do
      vim.list_extend(text, piece)
    end
    return text
  end
  if #missing == 0 or not view.source:info() then
    return done(all())
  end
  M.visit(view, missing, function(row, items)
    for _, item in ipairs(items) do
      vim.list_extend(pieces[of_row[row]], item.lines)
    end
  end, function(finished)
    done(finished and all() or nil)
  end)
end

---Tracks whether the register is overwritten before the text of a yank arrives; the newer content stays.
---@param view claude-ide.transcript.View
---@param register string
---@return fun(): boolean is_newest call once, when it arrives
function M.watch_register(view, register)
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

---After `TextYankPost`: fills the register with text that the buffer lacks.
---@param view claude-ide.transcript.View
---@param event { operator: string, regname: string, regtype: string, regcontents: string[] }
function M.yanked(view, event)
  if event.regtype:sub(1, 1) == "\22" or not M.has_gaps(view) then
    return
  end
  local first = vim.api.nvim_buf_get_mark(view.buf, "[")[1]
  local name = event.regname == "" and '"' or event.regname
  local is_read, is_newest = false, nil ---@type boolean, (fun(): boolean)?
  M.fill(view, first, event.regcontents, function(lines)
    is_read = true
    if not is_newest or not is_newest() then
      return -- nothing was missing, or the register was overwritten
    elseif not lines then
      notice.error("What was yanked cannot be read: the transcript is gone.")
    else
      vim.fn.setreg(name, lines, event.regtype)
      notice.info(("%d lines yanked."):format(#lines))
    end
  end)
  is_newest = not is_read and M.watch_register(view, name) or nil
end

---Implements `:write {file}`.
---@param view claude-ide.transcript.View
---@param path string
---@param append boolean
function M.write(view, path, append)
  local first = vim.api.nvim_buf_get_mark(view.buf, "[")[1]
  local last = vim.api.nvim_buf_get_mark(view.buf, "]")[1]
  local lines = vim.api.nvim_buf_get_lines(view.buf, first - 1, last, false)
  local shown = vim.fn.fnamemodify(path, ":~:.")
  M.fill(view, first, lines, function(all)
    if not all then
      return notice.error(("%s is not written: the transcript is gone."):format(shown))
    end
    local ok, result = pcall(vim.fn.writefile, all, path, append and "a" or "")
    if ok and result == 0 then
      notice.info(("%s: %d lines written."):format(shown, #all))
    else
      local why = tostring(result):gsub("^.-Vim%b():", "")
      notice.error(("%s cannot be written: %s"):format(shown, why))
    end
  end)
end

return M
