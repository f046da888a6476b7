-- The symbols of one file as a tree: of its language server, else of its syntax tree.
local M = {}

local METHOD = "textDocument/documentSymbol"

---@type string[]?
local kinds

---What kind of thing a symbol is, in words. The library has the list, which it names in the schema of `symbols` as well.
---LSP 3.17, "SymbolKind".
---@param kind any
---@return string
function M.kind(kind)
  kinds = kinds or require("claude-ide.native").symbol_kinds() or {}
  return kinds[kind] or "symbol"
end

---@class claude-ide.language.Symbol
---@field name string
---@field kind string
---@field first integer 1-based line
---@field last integer
---@field depth integer
---@field detail? string
---@field range? lsp.Range of the syntax tree: in bytes
---@field at? integer 0-based row of its name, of the syntax tree

---@param symbols claude-ide.language.Symbol[]
---@param placed fun(range: lsp.Range): lsp.Range
local function add(symbols, result, depth, placed)
  for _, symbol in ipairs(type(result) == "table" and result or {}) do
    local range = symbol.range or (symbol.location and symbol.location.range)
    if range then
      range = placed(range)
      symbols[#symbols + 1] = {
        name = tostring(symbol.name),
        kind = M.kind(symbol.kind),
        first = range.start.line + 1,
        last = range["end"].line + 1,
        depth = depth,
        detail = type(symbol.detail) == "string" and symbol.detail ~= "" and symbol.detail or nil,
      }
      add(symbols, symbol.children, depth + 1, placed)
    end
  end
end

---Symbols that a server gives as a list, made a tree of by their lines.
---@param symbols claude-ide.language.Symbol[]
local function nest(symbols)
  table.sort(symbols, function(left, right)
    if left.first ~= right.first then
      return left.first < right.first
    end
    return left.last > right.last
  end)
  local open = {}
  for _, symbol in ipairs(symbols) do
    while #open > 0 and open[#open].last < symbol.last do
      open[#open] = nil
    end
    symbol.depth = #open
    open[#open + 1] = symbol
  end
end

---Of a language server.
---@return claude-ide.language.Symbol[]
local function of_server(task, buf, client)
  local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
  local result = require("claude-ide.language.request").send(task, client, METHOD, params, buf)
  local symbols, breaks = {}, require("claude-ide.language.breaks")
  breaks.of(task, client, buf)
  add(symbols, result, 0, function(range)
    return breaks.range(client, buf, range)
  end)
  local is_flat = type(result) == "table" and result[1] ~= nil and result[1].location ~= nil
  if is_flat then
    nest(symbols)
  end
  return symbols
end

---Nodes of a syntax tree that declare something, by words in their type.
---@type { [1]: string, [2]: string }[]
local DECLARES = {
  { "class", "class" },
  { "interface", "interface" },
  { "trait", "interface" },
  { "struct", "struct" },
  { "enum", "enum" },
  { "impl", "class" },
  { "module", "module" },
  { "namespace", "namespace" },
  { "method", "method" },
  { "function", "function" },
  { "heading", "section" },
}
local IS_DECLARATION = {
  "_definition$",
  "_declaration$",
  "_item$",
  "_specifier$",
  "^atx_heading$",
  "^method$",
  "^class$",
  "^module$",
}

---@param node TSNode
---@return string? kind
local function kind_of(node)
  local type = node:type()
  local declares = vim.iter(IS_DECLARATION):any(function(pattern)
    return type:find(pattern) ~= nil
  end)
  if not declares then
    return nil
  end
  for _, word in ipairs(DECLARES) do
    if type:find(word[1], 1, true) then
      return word[2]
    end
  end
  return nil
end

---@param node TSNode
local function name_of(node, buf)
  local field = node:field("name")[1]
    or node:field("declarator")[1]
    or node:field("heading_content")[1]
    or node:field("type")[1]
  local text = field and vim.treesitter.get_node_text(field, buf)
    or vim.api.nvim_buf_get_lines(buf, (node:start()), (node:start()) + 1, false)[1]
    or ""
  return require("claude-ide.language.lines").brief(text:match("^[^\n]*") or "")
end

---Of the syntax tree.
---@param task claude-ide.language.Task
---@param buf integer
---@return claude-ide.language.Symbol[]? nil: the editor cannot parse this language
function M.of_tree(task, buf)
  local ok, parser = pcall(vim.treesitter.get_parser, buf)
  if not ok or not parser then
    return nil
  end
  local symbols = {}
  ---@param node TSNode
  ---@param depth integer
  local function walk(node, depth)
    for child in node:iter_children() do
      local kind = child:named() and kind_of(child) or nil
      if kind then
        local first, first_col, last, last_col = child:range()
        local named = child:field("name")[1] or child
        symbols[#symbols + 1] = {
          name = name_of(child, buf),
          range = {
            start = { line = first, character = first_col },
            ["end"] = { line = last, character = last_col },
          },
          at = (named:start()),
          kind = kind,
          first = first + 1,
          last = last_col == 0 and last > first and last or last + 1,
          depth = depth,
        }
      end
      walk(child, kind and depth + 1 or depth)
      task:breathe()
    end
  end
  local parsed, trees = pcall(parser.parse, parser)
  for _, tree in pairs(parsed and trees or {}) do
    walk(tree:root(), 0)
  end
  return symbols
end

---@param buf integer
---@return boolean whether the editor has a parser for its language
function M.has_parser(buf)
  local lang = vim.treesitter.language.get_lang(vim.bo[buf].filetype)
  return lang ~= nil and lang ~= "" and #vim.api.nvim_get_runtime_file("parser/" .. lang .. ".*", false) > 0
end

---Of a language server, else of the syntax tree.
---@param task claude-ide.language.Task
---@param buf integer
---@return claude-ide.language.Symbol[]? nil: neither knows the language
---@return string source
function M.of(task, buf)
  local servers, lsp = require("claude-ide.language.servers"), require("claude-ide.lsp")
  -- Where no server is there or on its way the tree is as good.
  if #lsp.clients(buf) > 0 or lsp.is_starting(buf) then
    for _, client in ipairs((servers.wait(task, buf, METHOD, "outline a file"))) do
      local found = of_server(task, buf, client)
      if #found > 0 then
        return found, client.name
      end
    end
  end
  return M.of_tree(task, buf), "syntax tree"
end

return M
