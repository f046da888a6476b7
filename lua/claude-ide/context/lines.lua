-- Numbered lines of buffers for agents, bounded, without withheld files.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local counted = lazy("claude-ide.base.counted")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local paths = lazy("claude-ide.base.path")
local place = lazy("claude-ide.context.place")
local privacy = lazy("claude-ide.server.privacy")
local reference = lazy("claude-ide.context.reference")
local selection = lazy("claude-ide.context.selection")

local M = {}

---Size limit of one context.
M.MOST_BYTES = 64 * 1024

---@param buf integer loaded
---@param first integer from 1
---@param last integer
---@param most? integer bytes
---@return string
function M.of(buf, first, last, most)
  most = most or M.MOST_BYTES
  last = math.min(last, vim.api.nvim_buf_line_count(buf))
  local lines, size = {}, 0
  local from = first
  while from <= last and size <= most do
    for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, from - 1, math.min(from + 999, last), false)) do
      size = size + #line + 8
      if size > most then
        lines[#lines + 1] = ("(cut: %d lines of %d)"):format(#lines, last - first + 1)
        break
      end
      lines[#lines + 1] = ("%d\t%s"):format(first + #lines, line)
    end
    from = from + 1000
  end
  local unsaved = vim.bo[buf].modified and " (with unsaved changes)" or ""
  return ("%s, lines %d-%d%s:\n%s"):format(place.name(buf), first, last, unsaved, table.concat(lines, "\n"))
end

---@param at claude-ide.context.At
---@return string? why it is unavailable
local function missing(at)
  if not at.buf then
    return "there is no file beside it"
  end
  return place.withheld(at.buf)
end

---@alias claude-ide.context.Done fun(found: claude-ide.context.Found?, why?: string)
---@alias claude-ide.context.Read fun(at: claude-ide.context.At, argument: string?, done: claude-ide.context.Done)

---@class claude-ide.context.Found
---@field text? string
---@field image? claude-ide.context.Image

---Reads lines of the adjacent file.
---@param pick fun(at: claude-ide.context.At): integer?, integer|string first and last line; nil and a reason
---@return claude-ide.context.Read
local function beside(pick)
  return function(at, _, done)
    local why = missing(at)
    if why then
      return done(nil, why)
    end
    local first, last = pick(at)
    if not first then
      return done(nil, last --[[@as string]])
    end
    done({
      text = M.of(at.buf --[[@as integer]], first, last --[[@as integer]]),
    })
  end
end

M.buffer = beside(function(at)
  return 1, vim.api.nvim_buf_line_count(at.buf --[[@as integer]])
end)

M.visible = beside(function(at)
  if not at.win or not vim.api.nvim_win_is_valid(at.win) then
    return nil, "it is not on the screen"
  end
  return vim.fn.line("w0", at.win), vim.fn.line("w$", at.win)
end)

---The lines of the selection as it is sent to Claude.
---@return integer? buf nil: nothing is selected
---@return integer? first
---@return integer? last
function M.selected()
  local latest, of_side = selection.latest()
  local buf = not of_side
    and latest
    and latest.text ~= ""
    and latest.filePath
    and buffer.loaded(latest.filePath)
  if not latest or not buf then
    return nil
  end
  local first, last = latest.selection.start.line + 1, latest.selection["end"]
  return buf, first, math.max(last.character > 0 and last.line + 1 or last.line, first)
end

---The lines of the file's last Visual mode.
---@param at claude-ide.context.At
---@return integer? first
---@return integer|string last
local function marked(at)
  local buf = at.buf --[[@as integer]]
  local first, last = vim.api.nvim_buf_get_mark(buf, "<")[1], vim.api.nvim_buf_get_mark(buf, ">")[1]
  if first == 0 or last == 0 then
    return nil, "nothing was selected there"
  end
  return math.min(first, last), math.max(first, last)
end

---`#selection`: as it is sent to Claude, else the lines that were selected last.
---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.selection(at, _, done)
  local latest, of_side = selection.latest()
  if latest and of_side and (not at.buf or vim.api.nvim_buf_get_name(at.buf) == latest.filePath) then
    return done({ text = ("%s, as the user sees it in a diff:\n%s"):format(latest.filePath, latest.text) })
  end
  local buf, first, last = M.selected()
  if buf and first and last and (not at.buf or at.buf == buf) then
    local why = place.withheld(buf)
    return done(not why and { text = M.of(buf, first, last) } or nil, why)
  end
  beside(marked)(at, nil, done)
end

---A reference to a range: `#lines:lua/a.lua:3-9`.
---@param buf integer
---@param first integer
---@param last integer
---@param cwd string
---@return string
function M.reference(buf, first, last, cwd)
  local name = vim.api.nvim_buf_get_name(buf)
  local shown = name == "" and ("buffer-%d"):format(buf) or paths.relative(name, cwd)
  return reference.written("lines", ("%s:%d-%d"):format(shown, first, last))
end

---@param buf integer
---@param first integer
---@return string? why there is nothing from that line on
local function is_beyond(buf, first)
  local count = vim.api.nvim_buf_line_count(buf)
  return first > count and ("it has only %s"):format(counted(count, "line")) or nil
end

---@param path string absolute
---@param done claude-ide.context.Done
local function of_disk(path, first, last, done)
  if privacy.withholds(path) then
    return done(nil, vim.fs.basename(path) .. " is private (selection.deny)")
  end
  current_text.read(path, function(disk)
    if not disk.bytes then
      return done(nil, disk.problem or vim.fs.basename(path) .. " does not exist")
    end
    local text = bytes.decode((bytes.text(disk.bytes)))
    local buf = own_buffer.create({ lines = text })
    local lacks = is_beyond(buf, first)
    if lacks then
      vim.api.nvim_buf_delete(buf, { force = true })
      return done(nil, lacks)
    end
    local found = M.of(buf, first, last):gsub("^[^\n]*,", path:gsub("%%", "%%%%") .. ",", 1)
    vim.api.nvim_buf_delete(buf, { force = true })
    done({ text = found })
  end)
end

---`#lines:{file}:{first}-{last}`.
---@param at claude-ide.context.At
---@param argument string?
---@param done claude-ide.context.Done
function M.read(at, argument, done)
  local name, first, last = (argument or ""):match("^(.+):(%d+)%-?(%d*)$")
  if not name then
    return done(nil, "write `#lines:file:3-9`")
  end
  local one = math.max(tonumber(first) --[[@as integer]], 1) --[[@as integer]]
  local other = math.max(tonumber(last) or one, 1) --[[@as integer]]
  local from, to = math.min(one, other), math.max(one, other) -- in either order, as in Neovim's ranges
  local path = paths.normalize(name, at.cwd)
  local unnamed = tonumber(name:match("^buffer%-(%d+)$")) --[[@as integer?]]
  local buf = buffer.loaded(path) or unnamed and vim.api.nvim_buf_is_loaded(unnamed) and unnamed or nil
  if not buf then
    return of_disk(path, from, to, done)
  end
  local why = place.withheld(buf)
  if why then
    return done(nil, why)
  end
  local lacks = is_beyond(buf, from)
  done(not lacks and { text = M.of(buf, from, to) } or nil, lacks)
end

return M
