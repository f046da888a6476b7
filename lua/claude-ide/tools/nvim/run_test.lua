-- run_test: the tests of a file, or the last run again, as 'makeprg' of the project runs them.

---So much of the end of what was printed is told.
local MAX_TAIL_BYTES = 2400
local MAX_PLACES = 25

---@param task claude-ide.language.Task
---@param args { scope: "file"|"last", path?: string }
---@return claude-ide.tools.TestRun
local function run_of(task, args)
  local command = require("claude-ide.tools.test_command")
  if args.scope == "last" then
    return command.last() or task:fail("no tests were run yet") --[[@as claude-ide.tools.TestRun]]
  end
  local buf = require("claude-ide.language.locate").buffer(task, args.path --[[@as string]])
  local run = command.of_file(buf, args.path --[[@as string]])
  return run or task:fail("'makeprg' is not set for this file, so how to run its tests is not known") --[[@as claude-ide.tools.TestRun]]
end

---@param items table[] of the quickfix list
---@return string[]
local function places(items)
  local locate, position, lines = require("claude-ide.language.locate"), require("claude-ide.position"), {}
  for i, item in ipairs(items) do
    if i > MAX_PLACES then
      lines[#lines + 1] = ("  … and %d more"):format(#items - MAX_PLACES)
      break
    end
    local path = vim.api.nvim_buf_get_name(item.bufnr)
    local text = position.truncate(position.valid(vim.trim((item.text:gsub("%s+", " ")))), 160)
    lines[#lines + 1] = ("  %s:%d: %s"):format(locate.shown(path), item.lnum, text)
  end
  return lines
end

return require("claude-ide.language.task").tool(function(task, args)
  local command = require("claude-ide.tools.test_command")
  local run = run_of(task, args)
  task:progress(run.title)
  local outcome = command.run(task, run)
  local items = command.to_quickfix(run, outcome.output)
  local ended = outcome.timed_out and "took too long and was ended"
    or outcome.code == 0 and "passed"
    or ("failed (exit code %d)"):format(outcome.code)
  local lines = { ("%s: %s. Command: %s"):format(run.title, ended, run.command) }
  if #items > 0 then
    lines[#lines + 1] = "Places, in the user's quickfix list too:"
    vim.list_extend(lines, places(items))
  end
  local output = require("claude-ide.position").valid((outcome.output:gsub("\27%[[%d;]*m", "")))
  local tail = output:sub(-MAX_TAIL_BYTES)
  tail = #tail < #output and tail:match("\n(.*)$") or tail
  local is_part = outcome.cut or #tail < #output
  lines[#lines + 1] = is_part and "The end of its output:" or "Its output:"
  lines[#lines + 1] = require("claude-ide.position").valid(tail)
  return { text = table.concat(lines, "\n") }
end)
