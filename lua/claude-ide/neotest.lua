-- A neotest consumer that lets Claude run tests like the user. neotest passes its client to consumers only:
-- `consumers = { claude = require("claude-ide.neotest") }` in `neotest.setup()`.
-- Invariant: cancelling a call stops its run.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local locate = lazy("claude-ide.language.locate")

local M = {}

---The used part of neotest's `neotest.Client`; its functions only run in nio tasks.
---@class claude-ide.neotest.Client
---@field get_position fun(self: table, id?: string, args: table): table?, string?
---@field get_nearest fun(self: table, path: string, row: integer, args: table): table?, string?
---@field run_tree fun(self: table, tree: table, args: table)
---@field stop fun(self: table, tree: table, args: table)
---@field get_results fun(self: table, adapter: string): table<string, claude-ide.neotest.Result>

---@class claude-ide.neotest.Result
---@field status "passed"|"failed"|"skipped"
---@field short? string
---@field output? string path
---@field errors? { message: string, line?: integer }[]

---@type claude-ide.neotest.Client?
local client

---@class claude-ide.neotest.Position
---@field path string
---@field row? integer 0-based; nil: the whole file

---The last run.
---@type claude-ide.neotest.Position?
local last

---A result.
---@class claude-ide.neotest.Test
---@field name string
---@field path string
---@field lnum integer
---@field status "passed"|"failed"|"skipped"
---@field message? string
---@field output? string path

---@return boolean
function M.is_there()
  return client ~= nil
end

---@return claude-ide.neotest.Position?
function M.last()
  return last
end

---@param tree table neotest.Tree
---@param results table<string, claude-ide.neotest.Result>
---@return claude-ide.neotest.Test[]
local function tests_of(tree, results)
  local tests = {}
  for _, position in tree:iter() do
    local result = results[position.id]
    if position.type == "test" and result then
      local wrong = result.errors and result.errors[1]
      tests[#tests + 1] = {
        name = position.name,
        path = position.path,
        lnum = (wrong and wrong.line or position.range and position.range[1] or 0) + 1,
        status = result.status,
        message = wrong and wrong.message or result.status == "failed" and result.short or nil,
        output = result.output,
      }
    end
  end
  return tests
end

---Runs the tests of a position and waits for the results.
---@param task claude-ide.language.Task
---@param position claude-ide.neotest.Position
---@return claude-ide.neotest.Test[]
---@return string title
function M.run(task, position)
  local asked = client --[[@as claude-ide.neotest.Client]]
  ---@diagnostic disable-next-line: unresolved-require -- neotest brings it
  local nio = require("nio")
  last = position
  local running ---@type { tree: table, adapter: string }?
  local is_cancelled = false
  local outcome, err = task:await(function(resume)
    nio.run(function()
      local tree, adapter = asked:get_position(position.path, {})
      if tree and position.row then
        tree, adapter = asked:get_nearest(position.path, position.row, { adapter = adapter })
      end
      local data = tree and tree:data()
      if not tree or not adapter or position.row and data.type == "file" then
        return nil
      end
      if is_cancelled then
        return nil -- while neotest searched for tests
      end
      running = { tree = tree, adapter = adapter }
      asked:run_tree(tree, { adapter = adapter })
      return { title = data.name, tests = tests_of(tree, asked:get_results(adapter)) }
    end, function(ok, found)
      vim.schedule(function()
        resume(ok and found or nil, not ok and tostring(found):match("^[^\n]*") or nil)
      end)
    end)
    return function()
      is_cancelled = true
      if running then
        nio.run(function()
          asked:stop(running.tree, { adapter = running.adapter })
        end)
      end
    end
  end)
  if err then
    task:fail("neotest failed: " .. err)
  elseif not outcome then
    local shown = locate.shown(position.path)
    task:fail(
      position.row and ("neotest knows no test at line %d of %s"):format(position.row + 1, shown)
        or ("neotest knows no tests in %s"):format(shown)
    )
  end
  return outcome.tests, outcome.title
end

return setmetatable(M, {
  ---@param given claude-ide.neotest.Client
  __call = function(_, given)
    client = given
    bus.emit("abilities_changed")
    return {}
  end,
})
