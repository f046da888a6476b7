-- What kind of thing a symbol is, in words. The library has the list, which it names in the schema of `symbols` as well.
-- LSP 3.17, "SymbolKind".
local M = {}

---@type string[]?
local names

---@param kind any
---@return string
function M.name(kind)
  names = names or require("claude-ide.native").symbol_kinds() or {}
  return names[kind] or "symbol"
end

return M
