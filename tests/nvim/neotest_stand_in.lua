-- What claude-ide.neotest meets of neotest and nvim-nio, for shell functions: neotest is in no package index, and tests need no
-- network. The names, arguments and answers are those that `:h neotest.client` and `:h nio.run` tell. The same tests passed with
-- neotest at 1c529a1 and nvim-nio at 21f5324 (2026-11-22), with an adapter for the same shell functions.
local nio = {}

---Waits inside of a task for what is told by a callback.
local function wait(begin)
  local task = assert((coroutine.running()), "not in a task")
  begin(vim.schedule_wrap(function(...)
    assert(coroutine.resume(task, ...))
  end))
  return coroutine.yield()
end

function nio.run(func, done)
  local task = coroutine.create(function()
    local results = { pcall(func) }
    if done then
      done(unpack(results))
    end
  end)
  assert(coroutine.resume(task))
  return task
end
package.loaded.nio = nio

---neotest.Tree: a position, and those below it.
local Tree = {}
Tree.__index = Tree

function Tree:data()
  return self.position
end

function Tree:iter()
  local all = { self.position }
  for _, child in ipairs(self.children) do
    all[#all + 1] = child.position
  end
  return ipairs(all)
end

local function tree_of(path)
  if not path:find("_test%.sh$") then
    return nil
  end
  local file = setmetatable({
    position = {
      type = "file",
      path = path,
      name = vim.fs.basename(path),
      id = path,
      range = { 0, 0, 99, 0 },
    },
    children = {},
  }, Tree)
  for row, line in ipairs(vim.split(assert(io.open(path)):read("a"), "\n")) do
    local name = line:match("^(test_%w+)%(%)")
    if name then
      file.children[#file.children + 1] = setmetatable({
        position = {
          type = "test",
          path = path,
          name = name,
          id = path .. "::" .. name,
          range = { row - 1, 0, row + 1, 1 },
        },
        children = {},
      }, Tree)
    end
  end
  return file
end

local ADAPTER = "shell:" .. vim.fn.getcwd()
local results = {}
local processes = {}
local client = {}

function client:get_position(id)
  wait(function(resume)
    resume() -- neotest parses the file in between
  end)
  local tree = tree_of(id)
  return tree, tree and ADAPTER
end

function client:get_nearest(path, row)
  local nearest = tree_of(path)
  for _, child in ipairs(nearest and nearest.children or {}) do
    if child.position.range[1] <= row then
      nearest = child
    end
  end
  return nearest, nearest and ADAPTER
end

function client:run_tree(tree)
  local names = {}
  for _, position in tree:iter() do
    if position.type == "test" then
      names[#names + 1] = position.name
    end
  end
  local path = tree:data().path
  local script = (". %s; for t in %s; do if $t; then echo PASS $t; else echo FAIL $t; fi; done"):format(
    path,
    table.concat(names, " ")
  )
  local output = vim.fn.tempname()
  local ended = wait(function(resume)
    processes[tree:data().id] = vim.system({ "sh", "-c", script }, { text = true, detach = true }, resume)
  end)
  local file = assert(io.open(output, "w"))
  file:write(ended.stdout)
  file:close()
  for status, name in ended.stdout:gmatch("(%u+) (test_%w+)") do
    results[path .. "::" .. name] = {
      status = status == "FAIL" and "failed" or "passed",
      output = output,
      errors = status == "FAIL" and { { message = "it went wrong", line = 4 } } or nil,
    }
  end
end

function client:stop(tree)
  vim.uv.kill(-processes[tree:data().id].pid, "sigterm")
end

function client:get_results()
  return results
end

require("claude-ide.neotest")(client)
