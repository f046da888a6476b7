-- Kinds of option values: validation, and their names in messages and LuaCATS types. A kind never changes a value.

---@class claude-ide.config.Kind
---@field luacats string LuaCATS type
---@field expects string for messages: "expected <expects>"
---@field accepts fun(value: any): boolean

local M = {}

---@param accepts fun(value: any): boolean
---@return claude-ide.config.Kind
local function kind(luacats, expects, accepts)
  return { luacats = luacats, expects = expects, accepts = accepts }
end

---@return fun(value: any): boolean
local function is(name)
  return function(value)
    return type(value) == name
  end
end

---An empty table counts: `vim.g` turns it into an empty dictionary.
local function is_list(value)
  return type(value) == "table" and (next(value) == nil or vim.islist(value))
end

M.boolean = kind("boolean", "true or false", is("boolean"))
M.string = kind("string", "a string", function(value)
  return type(value) == "string" and value ~= ""
end)

---A function with a signature for the generated types.
---@param luacats string
---@return claude-ide.config.Kind
function M.func_of(luacats)
  return kind(luacats, "a function", is("function"))
end

---A whole number from `min` to `max`, or unbounded.
---@param min integer
---@param max? integer
---@return claude-ide.config.Kind
function M.integer(min, max)
  local expects = max and ("a whole number from %d to %d"):format(min, max)
    or ("a whole number, %d or more"):format(min)
  return kind("integer", expects, function(value)
    return type(value) == "number" and value % 1 == 0 and value >= min and value <= (max or math.huge)
  end)
end

---A number above `bound`.
---@param bound number
---@return claude-ide.config.Kind
function M.above(bound)
  return kind("number", ("a number above %g"):format(bound), function(value)
    return type(value) == "number" and value > bound and value < math.huge
  end)
end

---@param choices string[]
---@return claude-ide.config.Kind
function M.one_of(choices)
  local quoted = vim.tbl_map(function(choice)
    return ('"%s"'):format(choice)
  end, choices)
  return kind(table.concat(quoted, "|"), "one of " .. table.concat(quoted, ", "), function(value)
    return vim.tbl_contains(choices, value)
  end)
end

---A list of items of one kind.
---@param item claude-ide.config.Kind
---@param min? integer minimum length, default 0
---@param example? string Lua, for the message
---@return claude-ide.config.Kind
function M.list(item, min, example)
  local expects = ("a list, each item %s"):format(item.expects)
  if example then
    expects = ("a list such as %s"):format(example)
  end
  local luacats = item.luacats:find("|", 1, true) and ("(%s)[]"):format(item.luacats) or item.luacats .. "[]"
  return kind(luacats, expects, function(value)
    if not is_list(value) or #value < (min or 0) then
      return false
    end
    return vim.iter(value):all(item.accepts)
  end)
end

---A table with free names.
---@param item claude-ide.config.Kind
---@return claude-ide.config.Kind
function M.map(item)
  local expects = ("a table of names, each value %s"):format(item.expects)
  return kind(("table<string, %s>"):format(item.luacats), expects, function(value)
    if type(value) ~= "table" then
      return false
    end
    for name, inner in pairs(value) do
      if type(name) ~= "string" or not item.accepts(inner) then
        return false
      end
    end
    return true
  end)
end

---An agent's command, environment and name.
M.agent = kind(
  "claude-ide.config.Agent",
  'a table such as { cmd = { "gemini", "--acp" }, env = {}, name = "Gemini" }',
  function(value)
    if type(value) ~= "table" then
      return false
    end
    for key in pairs(value) do
      if key ~= "cmd" and key ~= "env" and key ~= "name" then
        return false
      end
    end
    return (value.cmd == nil or M.list(M.string, 1).accepts(value.cmd))
      and (value.env == nil or M.map(M.string).accepts(value.env))
      and (value.name == nil or M.string.accepts(value.name))
  end
)

---@param kinds claude-ide.config.Kind[]
---@return claude-ide.config.Kind
function M.any_of(kinds)
  local luacats, expects = {}, {}
  for _, one in ipairs(kinds) do
    luacats[#luacats + 1] = one.luacats
    expects[#expects + 1] = one.expects
  end
  return kind(table.concat(luacats, "|"), table.concat(expects, ", or "), function(value)
    return vim.iter(kinds):any(function(one)
      return one.accepts(value)
    end)
  end)
end

M.off = kind("false", "false", function(value)
  return value == false
end)

---Options of another plugin, not validated.
M.options = kind("table", "a table", is("table"))

---Keys of a mapping: one, several, or false for none.
M.keys = kind("string|string[]|false", 'keys such as "<leader>a", a list of them, or false', function(value)
  return value == false or M.string.accepts(value) or M.list(M.string, 1).accepts(value)
end)

---An option with keys of a mapping.
---@param name string
---@param default string|string[]|false
---@param doc string
---@return claude-ide.config.Entry
function M.key(name, default, doc)
  return { name, kind = M.keys, default = default, doc = doc }
end

---First and last port.
M.port_range = kind(
  "[integer, integer]",
  "two ports such as { 40000, 40100 }, the lower one first",
  function(value)
    local port = M.integer(1, 65535)
    if type(value) ~= "table" or not vim.islist(value) or #value ~= 2 then
      return false
    end
    return port.accepts(value[1]) and port.accepts(value[2]) and value[1] <= value[2]
  end
)

return M
