-- type_hierarchy: what a type extends, or what extends it.

---@param hits claude-ide.language.Hit[]
local function add(hits, found, client)
  hits[#hits + 1] = require("claude-ide.language.hits").hit(
    found.uri,
    found.selectionRange or found.range,
    client,
    found.name .. ":"
  )
end

---@type table<string, claude-ide.language.Hierarchy>
local DIRECTIONS = {
  supertypes = {
    prepare = "textDocument/prepareTypeHierarchy",
    follow = "typeHierarchy/supertypes",
    doing = "tell what a type extends",
    one = "supertype",
    add = add,
  },
  subtypes = {
    prepare = "textDocument/prepareTypeHierarchy",
    follow = "typeHierarchy/subtypes",
    doing = "tell what extends a type",
    one = "subtype",
    add = add,
  },
}

return require("claude-ide.language.task").tool(function(task, args)
  return require("claude-ide.language.hierarchy").follow(task, args, DIRECTIONS[args.direction])
end)
