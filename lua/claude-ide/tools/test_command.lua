-- Runs the project's own command ('makeprg') for tests, beside Neovim: it never waits for it, as `:make` would. What the command
-- prints is read with 'errorformat', into the quickfix list and into words.
-- Invariant: one that is cancelled or too slow ends with all that it has started; what it prints is bounded.
local M = {}

local MAX_OUTPUT_BYTES = 1024 * 1024
local MAX_MS = 10 * 60 * 1000

---@class claude-ide.tools.TestRun
---@field command string for the shell
---@field cwd string
---@field errorformat string
---@field title string

---The run that "last" means.
---@type claude-ide.tools.TestRun?
local last

---The command as an option has it, where somebody has set it: `make` alone says nothing of tests.
---@param buf? integer
---@return string?
function M.program(buf)
  local set = buf and vim.api.nvim_get_option_value("makeprg", { buf = buf }) or vim.go.makeprg
  set = set ~= "" and set or vim.go.makeprg
  return set ~= "" and set ~= "make" and set or nil
end

---@param fits fun(program: string): any
---@return boolean whether such a command is set somewhere
local function is_set(fits)
  local program = M.program()
  if program and fits(program) then
    return true
  end
  return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    program = is_file and M.program(buf) or nil
    return program ~= nil and fits(program) ~= nil
  end)
end

---@return boolean
function M.is_able()
  return is_set(function()
    return true
  end)
end

---@return boolean whether one test can be run alone
function M.is_able_nearest()
  return is_set(require("claude-ide.tools.nearest_test").runner)
end

local attached = false

---Follows whether there is a command, so that the tool is listed while there is.
function M.attach()
  if attached then
    return
  end
  attached = true
  local able, neotest = require("claude-ide.tools.able"), require("claude-ide.neotest")
  able.declare("nvim", "run_test", function()
    return neotest.is_there() or M.is_able()
  end)
  able.declare("nvim", "run_test.nearest", function()
    return neotest.is_there() or M.is_able_nearest()
  end)
  local group = vim.api.nvim_create_augroup("claude-ide.tools.test_command", { clear = true })
  local function look()
    require("claude-ide.hub").tell("abilities_changed")
  end
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = "makeprg",
    desc = "Claude: tests can be run where a command for them is set",
    callback = look,
  })
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    desc = "Claude: filetype plugins set a command for tests",
    callback = look,
  })
end

---The run of all tests in a file.
---@param buf integer
---@param path string absolute
---@return claude-ide.tools.TestRun?
function M.of_file(buf, path)
  local program = M.program(buf)
  if not program then
    return nil
  end
  local cwd = require("claude-ide.workspace").folders()[1]
  local shown = require("claude-ide.path").relative(path, cwd)
  return M.with(buf, program, vim.fn.shellescape(shown), path, cwd, "Tests of " .. shown)
end

---The run of the one test at a line.
---@param task claude-ide.language.Task
---@param buf integer
---@param path string absolute
---@param lnum integer
---@return claude-ide.tools.TestRun?
---@return string? why_not
function M.of_nearest(task, buf, path, lnum)
  local nearest, program = require("claude-ide.tools.nearest_test"), M.program(buf)
  local argument = program and nearest.runner(program)
  if not program or not argument then
    return nil, "how one test is run alone is not known here: neither neotest nor a known runner in 'makeprg'"
  end
  local names = nearest.names(task, buf, lnum)
  local cwd = require("claude-ide.workspace").folders()[1]
  local shown = require("claude-ide.path").relative(path, cwd)
  if #names == 0 then
    return nil, ("line %d of %s is in no function"):format(lnum, shown)
  end
  local title = ("Test %s of %s"):format(names[#names], shown)
  return M.with(buf, program, argument(shown, names), path, cwd, title)
end

---A run of a command whose arguments are these.
---@param buf integer
---@param program string
---@param file string the arguments, for the shell
---@param path string absolute, for `%:h` and its like in the command
---@param cwd string
---@param title string
---@return claude-ide.tools.TestRun
function M.with(buf, program, file, path, cwd, title)
  local command, count = program:gsub("%%[:%w]*", function(word)
    return word == "%" and (file:gsub("%%", "%%%%"))
      or vim.fn.shellescape(vim.fn.fnamemodify(path, word:sub(2)))
  end)
  local filled, arguments = command:gsub("%$%*", (file:gsub("%%", "%%%%")))
  local errorformat = vim.api.nvim_get_option_value("errorformat", { buf = buf })
  return {
    command = count + arguments > 0 and filled or filled .. " " .. file,
    cwd = cwd,
    errorformat = errorformat ~= "" and errorformat or vim.go.errorformat,
    title = title,
  }
end

---@return claude-ide.tools.TestRun?
function M.last()
  return last
end

---@class claude-ide.tools.TestOutcome
---@field code integer
---@field output string
---@field cut boolean
---@field timed_out boolean

---Runs it and waits for its end.
---@param task claude-ide.language.Task
---@param run claude-ide.tools.TestRun
---@return claude-ide.tools.TestOutcome
function M.run(task, run)
  last = run
  local pieces, size, cut, timed_out = {}, 0, false, false
  local function collect(_, data)
    if data and size < MAX_OUTPUT_BYTES then
      pieces[#pieces + 1] = data:sub(1, MAX_OUTPUT_BYTES - size)
      size = size + #data
    end
    cut = size > MAX_OUTPUT_BYTES
  end
  local timer = assert(vim.uv.new_timer())
  local group ---@type integer?
  local function end_group()
    if group then
      require("claude-ide.native").group_end(group)
      group = nil
    end
  end
  local code = task:await(function(resume)
    local ok, process = pcall(vim.system, { vim.o.shell, vim.o.shellcmdflag, run.command }, {
      cwd = run.cwd,
      detach = true, -- a process group of its own, which ends as a whole
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
    group = require("claude-ide.native").group_keep(process.pid)
    timer:start(MAX_MS, 0, function()
      timed_out = true
      vim.schedule(end_group)
    end)
    return function()
      timer:close()
      end_group()
    end
  end)
  timer:close()
  end_group()
  if type(code) == "string" then
    task:fail("the tests could not be started: " .. code)
  end
  return { code = code, output = table.concat(pieces), cut = cut, timed_out = timed_out }
end

---Puts what was printed into the quickfix list, as 'errorformat' reads it.
---@param run claude-ide.tools.TestRun
---@param output string
---@return table[] items that name a place
function M.to_quickfix(run, output)
  local plain = output:gsub("\27%[[%d;]*m", ""):gsub("\r", "")
  vim.fn.setqflist({}, " ", {
    title = run.title,
    lines = vim.split(plain, "\n", { plain = true, trimempty = true }),
    efm = run.errorformat,
  })
  return vim.tbl_filter(function(item)
    return item.valid == 1 and item.bufnr > 0
  end, vim.fn.getqflist())
end

return M
