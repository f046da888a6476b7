-- run_test: runs one test, the tests of a file, or the last run again: by neotest, else by the project's command ('makeprg') in the
-- background. Its output is parsed with 'errorformat'.
-- Invariant: a cancelled or slow command is killed with all its children; its output is bounded.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local files = lazy("claude-ide.base.file")
local ide_position = lazy("claude-ide.base.position")
local locate = lazy("claude-ide.language.locate")
local native = lazy("claude-ide.library.native")
local neotest = lazy("claude-ide.neotest")
local outline = lazy("claude-ide.language.outline")
local paths = lazy("claude-ide.base.path")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local MAX_OUTPUT_BYTES = 1024 * 1024
local MAX_MS = 10 * 60 * 1000
---Maximum bytes of the output's end, and places, in the answer.
local MAX_TAIL_BYTES, MAX_PLACES = 2400, 25

---@class claude-ide.tools.TestRun
---@field command string for the shell
---@field cwd string
---@field errorformat string
---@field title string

---The last run.
---@type claude-ide.tools.TestRun?
local last

---@class claude-ide.tools.TestArgs
---@field scope "nearest"|"file"|"last"
---@field path? string
---@field line? integer

---A file's name as an argument: one that begins with "-" would be taken for an option.
---@param name string
---@return string
local function as_argument(name)
  return name:sub(1, 1) == "-" and "./" .. name or name
end

---How runners select a single test. `names` are the symbols around the line, outermost first. Other runners run no single test.
---@type { pattern: string, argument: fun(file: string, names: string[]): string }[]
local RUNNERS = {
  {
    pattern = "%f[%w]py%.?test%f[%W]",
    argument = function(file, names)
      return vim.fn.shellescape(file .. "::" .. table.concat(names, "::"))
    end,
  },
  {
    pattern = "%f[%w]go%s+test%f[%W]",
    argument = function(file, names)
      local folder = vim.fs.dirname(file)
      local where = vim.fn.shellescape(folder == "." and "." or "./" .. folder)
      return ("-run %s %s"):format(vim.fn.shellescape("^" .. names[#names] .. "$"), where)
    end,
  },
  {
    pattern = "%f[%w]cargo%s+test%f[%W]",
    argument = function(_, names)
      return vim.fn.shellescape(names[#names])
    end,
  },
}

---@param program string 'makeprg'
---@return (fun(file: string, names: string[]): string)?
local function runner(program)
  for _, one in ipairs(RUNNERS) do
    if program:find(one.pattern) then
      return one.argument
    end
  end
end

---The option's command, unless it is the default `make`.
---@param buf? integer
local function program_of(buf)
  local set = buf and vim.bo[buf].makeprg or vim.go.makeprg
  set = set ~= "" and set or vim.go.makeprg
  return set ~= "" and set ~= "make" and set or nil
end

---Whether a command is set, globally or for an open file.
---@param nearest boolean must support single tests
---@return boolean
function M.has_command(nearest)
  local function fits(program)
    return program ~= nil and (not nearest or runner(program) ~= nil)
  end
  return fits(program_of())
    or vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
      local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
      return is_file and fits(program_of(buf))
    end)
end

---@param arguments string for the shell
---@param path string absolute, for `%:h` etc. in the command
---@return claude-ide.tools.TestRun
local function run_of(buf, program, arguments, path, title)
  local command, names = program:gsub("%%[:%w]*", function(word)
    return word == "%" and (arguments:gsub("%%", "%%%%"))
      or vim.fn.shellescape(as_argument(vim.fn.fnamemodify(path, word:sub(2))))
  end)
  local filled, places = command:gsub("%$%*", (arguments:gsub("%%", "%%%%")))
  local errorformat = vim.bo[buf].errorformat
  return {
    command = names + places > 0 and filled or filled .. " " .. arguments,
    cwd = workspace.folders()[1],
    errorformat = errorformat ~= "" and errorformat or vim.go.errorformat,
    title = title,
  }
end

---Kinds of symbols that are tests or contain some.
local HOLDS =
  { class = true, ["function"] = true, method = true, module = true, namespace = true, struct = true }

---Names of the symbols around a line, outermost first; none outside of functions.
local function names_around(task, buf, lnum)
  local names, is_function = {}, false
  local within = 0 ---@type integer last line of the enclosing function, whose symbols are no tests
  for _, symbol in ipairs(outline.of(task, buf) or {}) do
    if HOLDS[symbol.kind] and within < lnum and symbol.first <= lnum and lnum <= symbol.last then
      names[symbol.depth + 1] = symbol.name:match("^[%w_\128-\255]+") or symbol.name
      for depth = #names, symbol.depth + 2, -1 do
        names[depth] = nil
      end
      is_function = symbol.kind == "function" or symbol.kind == "method"
      within = is_function and symbol.last --[[@as integer]] or 0
    end
  end
  return is_function and names or {}
end

---@param args claude-ide.tools.TestArgs
---@return claude-ide.tools.TestRun
local function run_for(task, args)
  if args.scope == "last" then
    return last or task:fail("no tests were run yet")
  end
  local path = args.path --[[@as string]]
  local lnum = args.line --[[@as integer]]
  local buf = locate.buffer(task, path)
  local program = program_of(buf)
  local shown = paths.relative(path, workspace.folders()[1])
  if args.scope == "file" then
    return program
        and run_of(buf, program, vim.fn.shellescape(as_argument(shown)), path, "Tests of " .. shown)
      or task:fail("'makeprg' is not set for this file, so how to run its tests is not known")
  end
  local argument = program and runner(program)
  if not program or not argument then
    return task:fail(
      "how one test is run alone is not known here: neither neotest nor a known runner in 'makeprg'"
    )
  end
  local names = names_around(task, buf, lnum)
  if #names == 0 then
    task:fail(("line %d of %s is in no function"):format(lnum, shown))
  end
  local title = ("Test %s of %s"):format(names[#names], shown)
  return run_of(buf, program, argument(as_argument(shown), names), path, title)
end

---@class claude-ide.tools.TestOutcome
---@field code integer
---@field output string
---@field cut boolean
---@field timed_out boolean

---Runs a command and waits for its exit.
---@param run claude-ide.tools.TestRun
---@return claude-ide.tools.TestOutcome
local function run_command(task, run)
  last = run
  local pieces, size, cut, timed_out = {}, 0, false, false
  local function collect(_, data)
    if data and size < MAX_OUTPUT_BYTES then
      pieces[#pieces + 1] = data:sub(1, MAX_OUTPUT_BYTES - size)
      size = size + #data
    end
    cut = size > MAX_OUTPUT_BYTES
  end
  local timer = timers.new("end tests that take too long")
  local group ---@type integer?
  local function end_group()
    if group then
      native.group_end(group)
      group = nil
    end
  end
  local code = task:await(function(resume)
    local ok, process = pcall(vim.system, { vim.o.shell, vim.o.shellcmdflag, run.command }, {
      cwd = run.cwd,
      detach = true, -- own process group, killed as a whole
      stdout = collect,
      stderr = collect,
    }, function(result)
      vim.schedule(function()
        resume(result.code)
      end)
    end)
    if not ok then
      resume(tostring(process))
      return nil
    end
    group = native.group_keep(process.pid)
    timer:start(MAX_MS, function()
      timed_out = true
      end_group()
    end)
    return function()
      timer:stop()
      end_group()
    end
  end)
  timer:stop()
  end_group()
  if type(code) == "string" then
    task:fail("the tests could not be started: " .. code)
  end
  return { code = code, output = table.concat(pieces), cut = cut, timed_out = timed_out }
end

local function without_colours(text)
  return (text:gsub("\27%[[%d;]*m", ""))
end

---Parses output with 'errorformat' into the quickfix list.
---@param run claude-ide.tools.TestRun
---@return table[] items with a position
local function to_quickfix(run, output)
  vim.fn.setqflist({}, " ", {
    title = run.title,
    lines = vim.split(without_colours(output):gsub("\r", ""), "\n", { plain = true, trimempty = true }),
    efm = run.errorformat,
  })
  return vim.tbl_filter(function(item)
    return item.valid == 1 and item.bufnr > 0
  end, vim.fn.getqflist())
end

---@param items table[] of the quickfix list
---@param output? string of the command
---@return { text: string }
local function answer(head, items, output, is_cut)
  local lines = { head }
  if #items > 0 then
    lines[2] = "Places, in the user's quickfix list too:"
  end
  for _, item in ipairs(vim.list_slice(items, 1, MAX_PLACES)) do
    local path = vim.api.nvim_buf_get_name(item.bufnr)
    local text = ide_position.truncate(ide_position.valid(vim.trim((item.text:gsub("%s+", " ")))), 160)
    local shown = locate.shown(path)
    lines[#lines + 1] = ("  %s:%d: %s"):format(shown, item.lnum, text)
  end
  if #items > MAX_PLACES then
    lines[#lines + 1] = ("  … and %d more"):format(#items - MAX_PLACES)
  end
  if output then
    local plain = ide_position.valid(without_colours(output))
    local tail = plain:sub(-MAX_TAIL_BYTES)
    tail = #tail < #plain and tail:match("\n(.*)$") or tail
    lines[#lines + 1] = (is_cut or #tail < #plain) and "The end of its output:" or "Its output:"
    lines[#lines + 1] = ide_position.valid(tail)
  end
  return { text = table.concat(lines, "\n") }
end

---@param args claude-ide.tools.TestArgs
---@return { text: string }
local function by_neotest(task, args)
  local position = neotest.last()
  if args.scope ~= "last" then
    local path = args.path --[[@as string]]
    locate.buffer(task, path) -- refuses what is private
    position = { path = paths.normalize(path) }
    if args.scope == "nearest" then
      local lnum = args.line --[[@as integer]]
      position.row = lnum - 1
    end
  elseif not position then
    return task:fail("no tests were run yet")
  end
  task:progress("Running tests with neotest")
  local tests, title = neotest.run(task, position)
  local counts, items, output = { passed = 0, failed = 0, skipped = 0 }, {}, nil
  for _, test in ipairs(tests) do
    counts[test.status] = (counts[test.status] or 0) + 1
    if test.status == "failed" then
      local text = ("%s: %s"):format(test.name, test.message or "failed")
      items[#items + 1] = { bufnr = buffer.add(test.path), lnum = test.lnum, text = text, type = "E" }
      output = output or test.output
    end
  end
  vim.fn.setqflist({}, " ", { title = "neotest: " .. title, items = items })
  local head = ("%s (neotest): %d passed, %d failed, %d skipped."):format(
    title,
    counts.passed,
    counts.failed,
    counts.skipped
  )
  local printed = output and files.read_start(output, MAX_OUTPUT_BYTES)
  return answer(head, items, printed ~= "" and printed or nil, #(printed or "") == MAX_OUTPUT_BYTES)
end

---@return boolean whether a successful runner has run no test: the selection matched none
local function ran_none(output)
  return output:find("no tests to run", 1, true) ~= nil
    or output:find("running 0 tests", 1, true) ~= nil and not output:find("running [1-9]%d* tests?")
end

M.run_test = require("claude-ide.language.task").tool(function(task, args)
  if neotest.is_there() then
    return by_neotest(task, args)
  end
  local run = run_for(task, args)
  task:progress(run.title)
  local outcome = run_command(task, run)
  local ended = outcome.timed_out and "took too long and was ended"
    or outcome.code == 0 and (ran_none(outcome.output) and "ran no test" or "passed")
    or ("failed (exit code %d)"):format(outcome.code)
  local head = ("%s: %s. Command: %s"):format(run.title, ended, run.command)
  return answer(head, to_quickfix(run, outcome.output), outcome.output, outcome.cut)
end)

return M
