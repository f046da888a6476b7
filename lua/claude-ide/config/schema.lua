-- Declares every option once: name, kind, default, documentation. The defaults, the validation, the LuaCATS types (config/types.lua)
-- and the help are derived from these tables.
-- An entry with `fields` is a section; one with `kind` is an option. Without a default it is not set.

---@class claude-ide.config.Entry
---@field [1] string name
---@field doc string for the help
---@field kind? claude-ide.config.Kind
---@field default? any
---@field shown? string the default in the help, if the value itself reads badly
---@field fields? claude-ide.config.Entry[]

local schema = {} ---@type claude-ide.config.Entry[]
for _, part in ipairs({ "connection", "context", "edits", "sessions", "programs" }) do
  vim.list_extend(schema, require("claude-ide.config.schema." .. part))
end
return schema
