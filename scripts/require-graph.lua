-- Checks the dependencies of lua/claude-ide, at the top of files and inside functions: `nvim -l scripts/require-graph.lua`.
-- Fails on a cycle, on an edge that scripts/rooms.lua does not allow, and on a module that is in no room or does not exist. Also where
-- a function requires what can stand at the head as `lazy`, and where what stands there is used as if it were the module.
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
---@return table<string, true> modules named in `require` or `lazy`, or looked up in `package.loaded`; one that ends in a dot is a
---prefix of the possible names
local function required_in(path)
  local names = {}
  for line in io.lines(path) do
    if not line:find("^%s*%-%-") then
      for word, name in line:gmatch("([%w_.]+)[%s([,]*[\"'](" .. NAME .. ")[\"']") do
        if
          word:find("^require$")
          or word:find("%.require$")
          or word == "lazy"
          or word == "package.loaded"
        then
          names[name] = true
        end
      end
    end
  end
  return names
end

---@param node TSNode?
local function is_in_function(node)
  while node and not node:type():find("^function_de") do -- a declaration or a definition
    node = node:parent()
  end
  return node ~= nil
end

---Whether a node is indexed or called, which is all that `lazy` knows.
---@param node TSNode
local function is_accessed(node)
  local around = node:parent() --[[@as TSNode]]
  return around:type():find("^%a+_index_expression$") ~= nil and around:field("table")[1] == node
    or around:type() == "function_call" and around:field("name")[1] == node
end

---Whether an identifier names a field, or is declared.
---@param node TSNode
local function is_no_use(node)
  local around = node:parent() --[[@as TSNode]]
  return around:type() == "variable_list"
    or around:field("field")[1] == node and around:type() == "dot_index_expression"
    or around:field("method")[1] == node
    or around:type() == "field" and around:field("name")[1] == node
end

---@param value TSNode
---@return TSNode? name that an assignment gives it
local function name_of(value)
  local values = value:parent() --[[@as TSNode]]
  local assignment = values:parent()
  if not assignment or assignment:type() ~= "assignment_statement" then
    return nil
  end
  for i = 0, values:named_child_count() - 1 do
    if values:named_child(i) == value then
      return assert(assignment:named_child(0)):named_child(i)
    end
  end
end

---Checks where modules are required, and how those are used that are loaded at first use (lua/claude-ide/lazy.lua).
---@param path string
local function check_places(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  local function text_of(node)
    return vim.treesitter.get_node_text(node, text)
  end
  local function fault(node, format, module)
    report("%s:%d " .. format, path, node:start() + 1, module)
  end
  local lazy, inside = {}, {} ---@type table<string, string>, table<string, string>
  local identifiers = {} ---@type TSNode[]

  ---@param node TSNode
  local function visit(node)
    if node:type() == "identifier" then
      identifiers[#identifiers + 1] = node
    elseif node:type() == "function_call" then
      local how = text_of(node:field("name")[1])
      local module = text_of(node:field("arguments")[1]):match("^%([\"'](" .. NAME .. ")[\"']%)$")
      local name = module and name_of(node)
      if module and how == "require" and is_in_function(node) and is_accessed(node) then
        fault(node, "requires %s inside a function: name it at the head, with `lazy`", module)
      elseif name and (how == "lazy" or how == "require" and is_in_function(node)) then
        (how == "lazy" and lazy or inside)[text_of(name)] = module
      end
    end
    for child in node:iter_children() do
      if child:named() then
        visit(child)
      end
    end
  end

  visit(assert(vim.treesitter.get_string_parser(text, "lua"):parse())[1]:root())
  for _, node in ipairs(identifiers) do
    local name = text_of(node)
    if inside[name] and is_accessed(node) then
      fault(node, "requires %s inside a function: name it at the head, with `lazy`", inside[name])
    elseif lazy[name] and not is_accessed(node) and not is_no_use(node) then
      fault(node, "uses what stands for %s as if it were the module: `require` it here", lazy[name])
    end
  end
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
      check_places(path)
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

---@class claude-ide.rooms.Unit
---@field layer integer from the bottom, through all rooms
---@field name string

---@param rooms { [1]: string, [2]: string[][]? }[] from the bottom
---@return fun(module: string): claude-ide.rooms.Unit?
local function units_of(rooms)
  local units, layer = {}, 0
  for _, room in ipairs(rooms) do
    for _, names in ipairs(room[2] or { { "*" } }) do
      layer = layer + 1
      for _, name in ipairs(names) do
        name = name == "*" and room[1] or room[1] .. "." .. name
        if units[name] then
          report("rooms.lua names %s twice", name)
        end
        units[name] = { layer = layer, name = name }
      end
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
  local unit_of = units_of(dofile("scripts/rooms.lua"))
  for _, module in ipairs(sorted(graph)) do
    local unit = unit_of(module)
    if not unit then
      report("%s is in no room of scripts/rooms.lua", module)
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
