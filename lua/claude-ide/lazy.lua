-- Names a module at the head of a file and loads it at its first use: `local notice = lazy("claude-ide.base.notice")`. Its type is that
-- of `require` (.emmyrc.json).
-- Invariants: each use sees what `package.loaded` has at that time. What stands for a module is indexed, written to or called, nothing
-- else: listed, compared or passed on, it is not the module. Use `require` there.
local loaded = package.loaded

---The module's name is at [0], where no module has anything.
local AT_USE = {
  __index = function(stand_in, key)
    local module = loaded[stand_in[0]]
    if type(module) ~= "table" then -- also what is left of one that failed to load: `require` reports it
      module = require(stand_in[0])
    end
    return module[key]
  end,
  __newindex = function(stand_in, key, value)
    require(stand_in[0])[key] = value
  end,
  __call = function(stand_in, ...)
    return require(stand_in[0])(...)
  end,
}

---@type table<string, table> by module: all files share one
local stand_ins = {}

---@param module string
---@return any
return function(module)
  stand_ins[module] = stand_ins[module] or setmetatable({ [0] = module }, AT_USE)
  return stand_ins[module]
end
