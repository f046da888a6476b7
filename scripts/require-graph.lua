-- Checks the dependencies of lua/claude-ide, at the top of files and inside functions: `nvim -l scripts/require-graph.lua`.
-- Fails on a cycle, on an edge that scripts/layers.lua does not allow, and on a module that is in no layer or does not exist.
-- `--print` lists each module with its dependencies.

local ROOT = "lua/claude-ide"
local NAME = "claude%-ide[%w_.-]*"

local problems = {} ---@type string[]

---@param format string
---@param ... any
local function report(format, ...)
  problems[#problems + 1] = format:format(...)
end

---@param path string "lua/claude-ide/ui/init.lua"
---@return string module "claude-ide.ui"
local function module_of(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

---@param path string
---@return table<string, true> modules named in a `require` or looked up in `package.loaded`; one that ends in a dot is a
---prefix of the possible names
local function required_in(path)
  local names = {}
  for line in io.lines(path) do
    if not line:find("^%s*%-%-") then
      for word, name in line:gmatch("([%w_.]+)[%s([,]*[\"'](" .. NAME .. ")[\"']") do
        if word:find("^require$") or word:find("%.require$") or word == "package.loaded" then
          names[name] = true
        end
      end
    end
  end
  return names
end

---@param graph table<string, any>
---@param names table<string, true>
---@param prefix string "claude-ide.tools."
local function add_all_below(graph, names, prefix)
  for module in pairs(graph) do
    if vim.startswith(module, prefix) and not module:find(".", #prefix + 1, true) then
      names[module] = true
    end
  end
end

---@return table<string, table<string, true>> graph
local function read_graph()
  local graph = {}
  for name, kind in vim.fs.dir(ROOT, { depth = 10 }) do
    if kind == "file" and name:find("%.lua$") then
      local path = ROOT .. "/" .. name
      graph[module_of(path)] = required_in(path)
    end
  end
  for module, names in pairs(graph) do
    for _, name in ipairs(vim.tbl_keys(names)) do
      if name:sub(-1) == "." then
        names[name] = nil
        add_all_below(graph, names, name)
      elseif not graph[name] then
        report("%s requires %s, which is not there", module, name)
        names[name] = nil
      end
    end
    names[module] = nil
  end
  return graph
end

---@param set table<string, any>
---@return string[]
local function sorted(set)
  local list = vim.tbl_keys(set)
  table.sort(list)
  return list
end

---The cycles, each as a list of modules (Tarjan's algorithm).
---@param graph table<string, table<string, true>>
---@return string[][]
local function cycles_of(graph)
  local index, low, stack, on_stack, count, found = {}, {}, {}, {}, 0, {}
  local function visit(module)
    count = count + 1
    index[module], low[module] = count, count
    stack[#stack + 1] = module
    on_stack[module] = true
    for _, name in ipairs(sorted(graph[module])) do
      if not index[name] then
        visit(name)
        low[module] = math.min(low[module], low[name])
      elseif on_stack[name] then
        low[module] = math.min(low[module], index[name])
      end
    end
    if low[module] == index[module] then
      local members = {}
      repeat
        local last = table.remove(stack)
        on_stack[last] = nil
        members[#members + 1] = last
      until last == module
      if #members > 1 then
        table.sort(members)
        found[#found + 1] = members
      end
    end
  end
  for _, module in ipairs(sorted(graph)) do
    if not index[module] then
      visit(module)
    end
  end
  return found
end

---@class claude-ide.layers.Unit
---@field layer integer from the bottom
---@field name string

---@param layers string[][] from the bottom
---@return fun(module: string): claude-ide.layers.Unit?
local function units_of(layers)
  local units = {}
  for layer, names in ipairs(layers) do
    for _, name in ipairs(names) do
      if units[name] then
        report("layers.lua names %s twice", name)
      end
      units[name] = { layer = layer, name = name }
    end
  end
  return function(module)
    local name = module:gsub("^claude%-ide%.?", "")
    name = name == "" and "init" or name
    while name do
      if units[name] then
        return units[name]
      end
      name = name:match("^(.*)%.[^.]*$")
    end
  end
end

---@param graph table<string, table<string, true>>
local function check_cycles(graph)
  for _, members in ipairs(cycles_of(graph)) do
    local lines = {}
    for _, module in ipairs(members) do
      local within = vim.tbl_filter(function(name)
        return vim.tbl_contains(members, name)
      end, sorted(graph[module]))
      lines[#lines + 1] = ("\n  %s → %s"):format(module, table.concat(within, ", "))
    end
    report("a cycle of %d modules:%s", #members, table.concat(lines))
  end
end

---@param graph table<string, table<string, true>>
local function check_layers(graph)
  local unit_of = units_of(dofile("scripts/layers.lua"))
  for _, module in ipairs(sorted(graph)) do
    local unit = unit_of(module)
    if not unit then
      report("%s is in no layer of scripts/layers.lua", module)
    else
      for _, name in ipairs(sorted(graph[module])) do
        local other = unit_of(name)
        if other and other.name ~= unit.name and other.layer >= unit.layer then
          report(
            "%s requires %s, which is %s it",
            module,
            name,
            other.layer > unit.layer and "above" or "beside"
          )
        end
      end
    end
  end
end

local graph = read_graph()
if vim.tbl_contains(arg, "--print") then
  for _, module in ipairs(sorted(graph)) do
    print(("%s → %s"):format(module, table.concat(sorted(graph[module]), " ")))
  end
end
check_cycles(graph)
check_layers(graph)
for _, problem in ipairs(problems) do
  io.stderr:write("require graph: ", problem, "\n")
end
os.exit(#problems == 0 and 0 or 1)
