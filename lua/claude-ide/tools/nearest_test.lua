-- The test at a line where neotest is not there: which function it is tells the language server or the syntax tree, how it is
-- run alone the runner that 'makeprg' names. A runner that is not known here runs none alone.
local M = {}

---How runners are told of one test. `names` are those of the symbols around the line, the outermost first.
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

---What a runner is told, if it is known.
---@param program string 'makeprg'
---@return (fun(file: string, names: string[]): string)?
function M.runner(program)
  for _, runner in ipairs(RUNNERS) do
    if program:find(runner.pattern) then
      return runner.argument
    end
  end
end

---Whether a runner that is content has run no test at all: where what it was told names none.
---@param output string
---@return boolean
function M.ran_none(output)
  return output:find("no tests to run", 1, true) ~= nil
    or output:find("running 0 tests", 1, true) ~= nil and not output:find("running [1-9]%d* tests?")
end

---What can be a test, or hold some.
local HOLDS =
  { class = true, ["function"] = true, method = true, module = true, namespace = true, struct = true }

---The names of the symbols around a line, the outermost first; none where the line is in no function.
---@param task claude-ide.language.Task
---@param buf integer
---@param lnum integer
---@return string[]
function M.names(task, buf, lnum)
  local outline, names, is_function = require("claude-ide.language.outline"), {}, false
  local within = 0 ---@type integer the last line of the function that was met: what it holds is no test
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

return M
