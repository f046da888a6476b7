-- The prompts that a user can pick: what each of them says of the editor as it is now.

---So much of the text around the cursor is shown, before and after.
local AROUND = 20
---So many bytes of a difference, or of a selection, go into a prompt.
local MAX_BYTES = 20000
---A file with more is shown as if all of its buffer were new.
local MAX_COMPARED = 64 * 1024 * 1024

local function shown(buf)
  return require("claude-ide.language.locate").shown(vim.api.nvim_buf_get_name(buf))
end

local function absolute(path)
  return path:sub(1, 1) == "/" and path or (require("claude-ide.workspace").folders()[1] or "") .. "/" .. path
end

---@type table<string, fun(task: claude-ide.language.Task, args: table): { description: string, text: string }>
local PROMPTS = {}

function PROMPTS.fix_diagnostics(task, args)
  local path = args.path and absolute(args.path) or nil
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

---What a buffer has that the disk has not, as a unified diff.
local function unsaved(buf)
  local disk = require("claude-ide.file").read_now(vim.api.nvim_buf_get_name(buf), MAX_COMPARED) or ""
  local text = require("claude-ide.buffer").text(buf)
  local difference = require("claude-ide.hunk").xdiff(disk, text, { ctxlen = 3 }) --[[@as string]]
  return ("--- %s (on disk)\n+++ %s (unsaved)\n%s"):format(shown(buf), shown(buf), difference)
end

function PROMPTS.review_changes(task)
  local parts = {}
  for _, buf in ipairs(require("claude-ide.tools.get_open_editors").buffers()) do
    if vim.bo[buf].modified and vim.api.nvim_buf_is_loaded(buf) then
      parts[#parts + 1] = unsaved(buf)
      task:breathe()
    end
  end
  local text = "Review the changes of this project since the last commit, as `git diff HEAD` and `git status` show them: look for "
    .. "bugs, for what was forgotten, for what could be simpler. Name each place as path:line. Change nothing."
  if #parts > 0 then
    local diffs = require("claude-ide.language.answer").cut(table.concat(parts, "\n"), MAX_BYTES)
    text = text
      .. " These changes are in my editor and not saved yet, so git does not show them:\n\n```diff\n"
      .. diffs
      .. "\n```"
  end
  return { description = "Review changes", text = text }
end

function PROMPTS.explain_selection(task)
  local cut = require("claude-ide.language.answer").cut
  local latest = require("claude-ide.selection").latest()
  local locate = require("claude-ide.language.locate")
  if latest and latest.filePath and latest.text ~= "" then
    local place = ("%s, lines %d-%d"):format(
      locate.shown(latest.filePath),
      latest.selection.start.line + 1,
      latest.selection["end"].line + 1
    )
    return {
      description = "Explain " .. place,
      text = ("Explain this code, which I have selected in %s:\n\n```\n%s\n```"):format(
        place,
        cut(latest.text, MAX_BYTES)
      ),
    }
  end
  local buf = require("claude-ide.tools.get_open_editors").active()
  local win = buf and vim.fn.win_findbuf(buf)[1]
  if not buf or not win then
    task:fail("no file is shown in the editor")
  end
  ---@cast buf integer
  ---@cast win integer
  local lnum = vim.api.nvim_win_get_cursor(win)[1]
  local first = math.max(lnum - AROUND, 1)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, lnum + AROUND, false)
  local place = ("%s:%d"):format(shown(buf), lnum)
  return {
    description = "Explain " .. place,
    text = ("Explain the code around %s, where my cursor is. Lines %d-%d:\n\n```\n%s\n```"):format(
      place,
      first,
      first + #lines - 1,
      cut(table.concat(lines, "\n"), MAX_BYTES)
    ),
  }
end

return require("claude-ide.language.task").tool(function(task, args)
  return PROMPTS[args.name](task, args)
end)
