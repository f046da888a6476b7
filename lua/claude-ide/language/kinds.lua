-- What kind of thing a symbol is, in words.
-- LSP 3.17, "SymbolKind".
local M = {}

---@type string[]
M.NAMES = {
  "file",
  "module",
  "namespace",
  "package",
  "class",
  "method",
  "property",
  "field",
  "constructor",
  "enum",
  "interface",
  "function",
  "variable",
  "constant",
  "string",
  "number",
  "boolean",
  "array",
  "object",
  "key",
  "null",
  "enum member",
  "struct",
  "event",
  "operator",
  "type_parameter",
}

---@param kind any
---@return string
function M.name(kind)
  return M.NAMES[kind] or "symbol"
end

return M
