-- Every option: its name, kind, default and meaning, stated once. The defaults, the validation, the LuaCATS types
-- (config/types.lua) and the option list of the help file are all made from these tables.
-- An entry with `fields` is a section; one with `kind` is an option. No default means: not set.

---@class claude-ide.config.Entry
---@field [1] string name
---@field doc string for the user who sets it
---@field kind? claude-ide.config.Kind
---@field default? any
---@field shown? string how the help writes the default, where the value itself reads badly
---@field fields? claude-ide.config.Entry[]

local schema = {} ---@type claude-ide.config.Entry[]
for _, part in ipairs({ "connection", "context", "edits", "sessions", "programs" }) do
  vim.list_extend(schema, require("claude-ide.config.schema." .. part))
end
return schema
