-- What `#…` in a prompt stands for: text of the editor, read when the prompt is sent, bounded, and never of what is withheld.
local M = {}

---Bytes of each, and of all together.
local MAX_EACH, MAX_ALL = 64 * 1024, 192 * 1024

---@class claude-ide.chat.Context
---@field name string
---@field doc string
---@field read fun(at: claude-ide.chat.context.At): string?, string? text; nil and why there is none

---Where the person works, beside the chat.
---@class claude-ide.chat.context.At
---@field win? integer
---@field buf? integer
---@field cwd string

---@param buf integer
---@return boolean
local function may_tell(buf)
  return require("claude-ide.privacy").verdict(buf) == "tell"
end

---@param buf integer
---@return string
local function name_of(buf)
  return vim.api.nvim_buf_get_name(buf)
end

---@param buf integer
---@param first integer from 1
---@param last integer
---@return string
local function lines_of(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local size = 0
  for at, line in ipairs(lines) do
    size = size + #line + 8
    if size > MAX_EACH then
      lines = vim.list_slice(lines, 1, at - 1)
      lines[#lines + 1] = ("(cut: %d lines of %d)"):format(at - 1, last - first + 1)
      break
    end
    lines[at] = ("%d\t%s"):format(first + at - 1, line)
  end
  local unsaved = vim.bo[buf].modified and " (with unsaved changes)" or ""
  return ("%s, lines %d-%d%s:\n%s"):format(name_of(buf), first, last, unsaved, table.concat(lines, "\n"))
end

---@param at claude-ide.chat.context.At
---@return string? why there is nothing
local function missing(at)
  if not at.buf then
    return "there is no file beside the chat"
  elseif not may_tell(at.buf) then
    return vim.fs.basename(name_of(at.buf)) .. " is withheld (selection.deny)"
  end
end

local SEVERITIES = { "error", "warning", "information", "hint" }

---@param diagnostic vim.Diagnostic
---@return string
local function diagnostic_line(diagnostic)
  return ("%s:%d:%d: %s: %s%s"):format(
    name_of(diagnostic.bufnr),
    diagnostic.lnum + 1,
    diagnostic.col + 1,
    SEVERITIES[
      diagnostic.severity --[[@as integer]]
    ] or "?",
    (diagnostic.message:gsub("\n", " ")),
    diagnostic.source and (" (%s)"):format(diagnostic.source) or ""
  )
end

---@type claude-ide.chat.Context[]
M.LIST = {
  {
    name = "buffer",
    doc = "the file beside the chat, unsaved changes too",
    read = function(at)
      local why = missing(at)
      local buf = at.buf --[[@as integer]]
      return not why and lines_of(buf, 1, vim.api.nvim_buf_line_count(buf)) or nil, why
    end,
  },
  {
    name = "selection",
    doc = "what was selected last in that file",
    read = function(at)
      local why = missing(at)
      if why then
        return nil, why
      end
      local first = vim.api.nvim_buf_get_mark(at.buf --[[@as integer]], "<")[1]
      local last = vim.api.nvim_buf_get_mark(at.buf --[[@as integer]], ">")[1]
      if first == 0 or last == 0 then
        return nil, "nothing was selected there"
      end
      return lines_of(at.buf --[[@as integer]], math.min(first, last), math.max(first, last))
    end,
  },
  {
    name = "visible",
    doc = "what is on the screen of it",
    read = function(at)
      local why = missing(at)
      if why or not at.win then
        return nil, why or "it is not on the screen"
      end
      return lines_of(at.buf --[[@as integer]], vim.fn.line("w0", at.win), vim.fn.line("w$", at.win))
    end,
  },
  {
    name = "buffers",
    doc = "the names of the open files",
    read = function()
      local names = {}
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if vim.bo[buf].buflisted and may_tell(buf) then
          names[#names + 1] = name_of(buf) .. (vim.bo[buf].modified and " (with unsaved changes)" or "")
        end
      end
      return #names > 0 and table.concat(names, "\n") or nil, "no file is open"
    end,
  },
  {
    name = "diagnostics",
    doc = "errors and warnings of open files",
    read = function()
      local lines = {}
      for _, diagnostic in
        ipairs(vim.diagnostic.get(nil, { severity = { min = vim.diagnostic.severity.WARN } } --[[@as any]]))
      do
        if vim.api.nvim_buf_is_valid(diagnostic.bufnr) and may_tell(diagnostic.bufnr) and #lines < 200 then
          lines[#lines + 1] = diagnostic_line(diagnostic)
        end
      end
      return #lines > 0 and table.concat(lines, "\n") or nil, "there are no errors and no warnings"
    end,
  },
  {
    name = "quickfix",
    doc = "the quickfix list",
    read = function()
      local lines = {}
      for _, item in ipairs(vim.fn.getqflist()) do
        local is_told = item.bufnr == 0 or may_tell(item.bufnr)
        if is_told and #lines < 500 then
          local where = item.bufnr > 0 and ("%s:%d:%d: "):format(name_of(item.bufnr), item.lnum, item.col)
            or ""
          lines[#lines + 1] = where .. vim.trim(item.text)
        end
      end
      return #lines > 0 and table.concat(lines, "\n") or nil, "the quickfix list is empty"
    end,
  },
}

---The file beside the chat: of the window that was left last, as far as it shows one.
---@param chat claude-ide.chat.Chat
---@return claude-ide.chat.context.At
local function place(chat)
  local best ---@type integer?
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local wins = vim.api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, previous)
  for _, win in ipairs(wins) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    if buf and not best and require("claude-ide.privacy").verdict(buf) ~= "elsewhere" then
      best = win
    end
  end
  return { win = best, buf = best and vim.api.nvim_win_get_buf(best), cwd = chat.cwd }
end

---@param text string
---@return string[] names in the order in which they stand there
local function named(text)
  local names, seen = {}, {}
  for before, name in (" " .. text):gmatch("([^%w#])#(%l+)%f[^%w]") do
    if before and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names
end

---What the `#…` of a prompt stand for, each as a text. One that has nothing to say says so.
---@param text string
---@param chat claude-ide.chat.Chat
---@return string[]
function M.of(text, chat)
  local parts, total, at = {}, 0, nil
  for _, name in ipairs(named(text)) do
    local context = vim.iter(M.LIST):find(function(one)
      return one.name == name
    end)
    if context then
      at = at or place(chat)
      local found, why = context.read(at)
      found = found or ("(nothing: %s)"):format(why or "nothing is there")
      if total + #found > MAX_ALL then
        found = "(left out: it is too long)"
      end
      total = total + #found
      parts[#parts + 1] = ('<editor_context name="%s">\n%s\n</editor_context>'):format(name, found)
    end
  end
  return parts
end

return M
