-- MCP prompts for users: text about the current state of the editor.
local M = {}

---Lines of context around the cursor, before and after.
local AROUND = 20
---Maximum bytes of a difference or a selection.
local MAX_BYTES = 20000
---Larger files are shown as if the whole buffer were new.
local MAX_COMPARED = 64 * 1024 * 1024

local function shown(path)
  return require("claude-ide.language.locate").shown(path)
end

local function cut(text)
  return require("claude-ide.language.answer").cut(text, MAX_BYTES)
end

---@type table<string, fun(task: claude-ide.language.Task, args: table): { description: string, text: string }>
local PROMPTS = {}

function PROMPTS.fix_diagnostics(task, args)
  local path = args.path and require("claude-ide.language.locate").absolute(args.path) or nil
  local problems =
    require("claude-ide.language.problems").text(task, { path = path, severity = "warning" }).text
  local where = args.path or "this project"
  return {
    description = "Fix diagnostics of " .. where,
    text = (
      "Fix what the language servers of my editor find wrong in %s. Fix causes, do not silence messages. Afterwards "
      .. "check with the `diagnostics` tool of the nvim server that nothing of it is left and nothing new has come.\n\n%s"
    ):format(where, problems),
  }
end

---The unsaved changes of a buffer as a unified diff.
local function unsaved(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local disk = require("claude-ide.file").read_now(name, MAX_COMPARED) or ""
  local text = require("claude-ide.buffer").text(buf)
  local difference = require("claude-ide.hunk").xdiff(disk, text, { ctxlen = 3 }) --[[@as string]]
  return ("--- %s (on disk)\n+++ %s (unsaved)\n%s"):format(shown(name), shown(name), difference)
end

function PROMPTS.review_changes(task)
  local parts = {}
  for _, buf in ipairs(require("claude-ide.tools.editor").buffers()) do
    if vim.bo[buf].modified and vim.api.nvim_buf_is_loaded(buf) then
      parts[#parts + 1] = unsaved(buf)
      task:breathe()
    end
  end
  local text = "Review the changes of this project since the last commit, as `git diff HEAD` and `git status` show them: look for "
    .. "bugs, for what was forgotten, for what could be simpler. Name each place as path:line. Change nothing."
  if #parts > 0 then
    local intro = " These changes are in my editor and not saved yet, so git does not show them:"
    text = ("%s%s\n\n```diff\n%s\n```"):format(text, intro, cut(table.concat(parts, "\n")))
  end
  return { description = "Review changes", text = text }
end

function PROMPTS.explain_selection(task)
  local latest = require("claude-ide.selection").latest()
  if latest and latest.filePath and latest.text ~= "" then
    local range = latest.selection
    local place = ("%s, lines %d-%d"):format(
      shown(latest.filePath),
      range.start.line + 1,
      range["end"].line + 1
    )
    local text = ("Explain this code, which I have selected in %s:\n\n```\n%s\n```"):format(
      place,
      cut(latest.text)
    )
    return { description = "Explain " .. place, text = text }
  end
  local buf = require("claude-ide.tools.editor").active()
  local win = buf and vim.fn.win_findbuf(buf)[1]
  if not buf or not win then
    return task:fail("no file is shown in the editor")
  end
  local lnum = vim.api.nvim_win_get_cursor(win)[1]
  local first = math.max(lnum - AROUND, 1)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, lnum + AROUND, false)
  local place = ("%s:%d"):format(shown(vim.api.nvim_buf_get_name(buf)), lnum)
  return {
    description = "Explain " .. place,
    text = ("Explain the code around %s, where my cursor is. Lines %d-%d:\n\n```\n%s\n```"):format(
      place,
      first,
      first + #lines - 1,
      cut(table.concat(lines, "\n"))
    ),
  }
end

M.prompt = require("claude-ide.language.task").tool(function(task, args)
  return PROMPTS[args.name](task, args)
end)

return M
