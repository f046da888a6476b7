-- Diagnostics of open files, the quickfix list and the open buffers, as text for agents.
local M = {}

local MOST_DIAGNOSTICS, MOST_ITEMS = 200, 500
local SEVERITIES = { "error", "warning", "information", "hint" }

local function may_tell(buf)
  return vim.api.nvim_buf_is_valid(buf) and require("claude-ide.privacy").verdict(buf) == "tell"
end

local function line_of(diagnostic)
  return ("%s:%d:%d: %s: %s%s"):format(
    vim.api.nvim_buf_get_name(diagnostic.bufnr),
    diagnostic.lnum + 1,
    diagnostic.col + 1,
    SEVERITIES[
      diagnostic.severity --[[@as integer]]
    ] or "?",
    (diagnostic.message:gsub("\n", " ")),
    diagnostic.source and (" (%s)"):format(diagnostic.source) or ""
  )
end

---@param _ claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.diagnostics(_, _, done)
  local lines = {}
  local filter = { severity = { min = vim.diagnostic.severity.WARN } } --[[@as any]]
  for _, diagnostic in ipairs(vim.diagnostic.get(nil, filter)) do
    if #lines < MOST_DIAGNOSTICS and may_tell(diagnostic.bufnr) then
      lines[#lines + 1] = line_of(diagnostic)
    end
  end
  if #lines == 0 then
    return done(nil, "there are no errors and no warnings")
  end
  done({ text = table.concat(lines, "\n") })
end

---Diagnostics in a range of lines.
---@param buf integer
---@param first integer from 1
---@param last integer
---@return string[]
function M.within(buf, first, last)
  local lines = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local lnum = diagnostic.lnum + 1
    if
      lnum <= last
      and math.max((diagnostic.end_lnum or diagnostic.lnum) + 1, lnum) >= first
      and #lines < 50
    then
      lines[#lines + 1] = ("line %d: %s: %s"):format(lnum, SEVERITIES[
        diagnostic.severity --[[@as integer]]
      ] or "?", (diagnostic.message:gsub("\n", " ")))
    end
  end
  return lines
end

---@param _ claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.quickfix(_, _, done)
  local lines = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    if #lines < MOST_ITEMS and (item.bufnr == 0 or may_tell(item.bufnr)) then
      local name = item.bufnr > 0 and vim.api.nvim_buf_get_name(item.bufnr)
      local where = name and ("%s:%d:%d: "):format(name, item.lnum, item.col) or ""
      lines[#lines + 1] = where .. vim.trim(item.text)
    end
  end
  if #lines == 0 then
    return done(nil, "the quickfix list is empty")
  end
  done({ text = table.concat(lines, "\n") })
end

---@param _ claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.buffers(_, _, done)
  local names = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].buflisted and may_tell(buf) then
      names[#names + 1] = vim.api.nvim_buf_get_name(buf)
        .. (vim.bo[buf].modified and " (with unsaved changes)" or "")
    end
  end
  if #names == 0 then
    return done(nil, "no file is open")
  end
  done({ text = table.concat(names, "\n") })
end

return M
