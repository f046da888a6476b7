-- run_test: one test, the tests of a file, or the last run again: by neotest, else as 'makeprg' of the project runs them.

---So much of the end of what was printed is told.
local MAX_TAIL_BYTES = 2400
local MAX_PLACES = 25
---So much of a file of output is read.
local MAX_OUTPUT_BYTES = 1024 * 1024

---@class claude-ide.tool.RunTest.Args
---@field scope "nearest"|"file"|"last"
---@field path? string
---@field line? integer

---@param args claude-ide.tool.RunTest.Args
---@return claude-ide.tools.TestRun
local function run_of(task, args)
  local command = require("claude-ide.tools.test_command")
  if args.scope == "last" then
    return command.last() or task:fail("no tests were run yet") --[[@as claude-ide.tools.TestRun]]
  end
  local path = args.path --[[@as string]]
  local buf = require("claude-ide.language.locate").buffer(task, path)
  if args.scope == "nearest" then
    local run, why_not = command.of_nearest(task, buf, path, args.line --[[@as integer]])
    return run or task:fail(why_not --[[@as string]]) --[[@as claude-ide.tools.TestRun]]
  end
  local run = command.of_file(buf, path)
  return run or task:fail("'makeprg' is not set for this file, so how to run its tests is not known") --[[@as claude-ide.tools.TestRun]]
end

---@param items table[] of the quickfix list
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

---The end of what was printed.
---@return string[] lines
local function tail_of(output, is_cut)
  local valid = require("claude-ide.position").valid
  local plain = valid((output:gsub("\27%[[%d;]*m", "")))
  local tail = plain:sub(-MAX_TAIL_BYTES)
  tail = #tail < #plain and tail:match("\n(.*)$") or tail
  local is_part = is_cut or #tail < #plain
  return { is_part and "The end of its output:" or "Its output:", valid(tail) }
end

---@param args claude-ide.tool.RunTest.Args
---@return { text: string }
local function by_neotest(task, args)
  local neotest = require("claude-ide.neotest")
  local position = args.scope == "last" and neotest.last() or nil
  if args.scope == "last" and not position then
    task:fail("no tests were run yet")
  elseif args.scope ~= "last" then
    require("claude-ide.language.locate").buffer(task, args.path --[[@as string]]) -- refuses what is private
    local path = require("claude-ide.path").normalize(args.path --[[@as string]]) --[[@as string]]
    position = { path = path }
    if args.scope == "nearest" then
      local lnum = args.line --[[@as integer]]
      position.row = lnum - 1
    end
  end
  task:progress("Running tests with neotest")
  local tests, title = neotest.run(task, position --[[@as claude-ide.neotest.Position]])
  local counts, items, output = { passed = 0, failed = 0, skipped = 0 }, {}, nil
  for _, test in ipairs(tests) do
    counts[test.status] = (counts[test.status] or 0) + 1
    if test.status == "failed" then
      local text = ("%s: %s"):format(test.name, test.message or "failed")
      items[#items + 1] = { bufnr = vim.fn.bufadd(test.path), lnum = test.lnum, text = text, type = "E" }
      output = output or test.output
    end
  end
  vim.fn.setqflist({}, " ", { title = "neotest: " .. title, items = items })
  local lines = {
    ("%s (neotest): %d passed, %d failed, %d skipped."):format(
      title,
      counts.passed,
      counts.failed,
      counts.skipped
    ),
  }
  if #items > 0 then
    lines[#lines + 1] = "Places, in the user's quickfix list too:"
    vim.list_extend(lines, places(items))
  end
  local printed = output and require("claude-ide.file").read_start(output, MAX_OUTPUT_BYTES)
  if printed and printed ~= "" then
    vim.list_extend(lines, tail_of(printed, #printed == MAX_OUTPUT_BYTES))
  end
  return { text = table.concat(lines, "\n") }
end

---@param task claude-ide.language.Task
---@param args claude-ide.tool.RunTest.Args
return require("claude-ide.language.task").tool(function(task, args)
  if require("claude-ide.neotest").is_there() then
    return by_neotest(task, args)
  end
  local command = require("claude-ide.tools.test_command")
  local run = run_of(task, args)
  task:progress(run.title)
  local outcome = command.run(task, run)
  local items = command.to_quickfix(run, outcome.output)
  local ended = outcome.timed_out and "took too long and was ended"
    or outcome.code == 0 and require("claude-ide.tools.nearest_test").ran_none(outcome.output) and "ran no test"
    or outcome.code == 0 and "passed"
    or ("failed (exit code %d)"):format(outcome.code)
  local lines = { ("%s: %s. Command: %s"):format(run.title, ended, run.command) }
  if #items > 0 then
    lines[#lines + 1] = "Places, in the user's quickfix list too:"
    vim.list_extend(lines, places(items))
  end
  vim.list_extend(lines, tail_of(outcome.output, outcome.cut))
  return { text = table.concat(lines, "\n") }
end)
