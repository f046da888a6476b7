-- The symbols of a file as a tree, and the definition of one: from its language server, else from treesitter.
-- LSP 3.17, "textDocument/documentSymbol".
local M = {}

local METHOD = "textDocument/documentSymbol"

---@type string[]?
local kinds

---The name of a symbol kind. The library has the list, which is also in the schema of `symbols`.
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
---@field range lsp.Range columns in the server's units; from treesitter in bytes
---@field name_at lsp.Position

---@param placed fun(range: lsp.Range): lsp.Range
local function add(symbols, result, depth, placed)
  for _, symbol in ipairs(type(result) == "table" and result or {}) do
    local range = symbol.range or (symbol.location and symbol.location.range)
    if range then
      range = placed(range)
      local selection = symbol.selectionRange and placed(symbol.selectionRange) or range
      symbols[#symbols + 1] = {
        name = tostring(symbol.name),
        kind = M.kind(symbol.kind),
        first = range.start.line + 1,
        last = range["end"].line + 1,
        range = range,
        name_at = selection.start,
        depth = depth,
        detail = type(symbol.detail) == "string" and symbol.detail ~= "" and symbol.detail or nil,
      }
      add(symbols, symbol.children, depth + 1, placed)
    end
  end
end

---Makes a tree of a flat list, by line ranges.
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

---Symbols of a language server.
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

---Treesitter nodes that declare something, by words in their type.
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

---Symbols of the syntax tree.
---@return claude-ide.language.Symbol[]? symbols nil: no parser
local function of_tree(task, buf)
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
          name_at = { line = named:start(), character = 0 },
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
---@return boolean whether there is a parser for its language
function M.has_parser(buf)
  local lang = vim.treesitter.language.get_lang(vim.bo[buf].filetype)
  return lang ~= nil and lang ~= "" and #vim.api.nvim_get_runtime_file("parser/" .. lang .. ".*", false) > 0
end

---The symbols of a language server, else of the syntax tree.
---@param task claude-ide.language.Task
---@param buf integer
---@return claude-ide.language.Symbol[]? symbols nil: neither knows the language
---@return string source
function M.of(task, buf)
  local servers, lsp = require("claude-ide.language.servers"), require("claude-ide.lsp")
  -- Without a server, running or starting, the tree is used at once.
  if #lsp.clients(buf) > 0 or lsp.is_starting(buf) then
    for _, client in ipairs((servers.wait(task, buf, METHOD, "outline a file"))) do
      local found = of_server(task, buf, client)
      if #found > 0 then
        return found, client.name
      end
    end
  end
  return of_tree(task, buf), "syntax tree"
end

---@class claude-ide.language.Definition
---@field name string
---@field range lsp.Range
---@field encoding claude-ide.changeset.Encoding of its columns

---How well a symbol matches a line: nearer and smaller is better.
---@param line? integer 1-based
---@return number distance
local function distance(symbol, line)
  local row, first, last = symbol.name_at.line, symbol.range.start, symbol.range["end"]
  local far = line and math.abs(row - (line - 1)) or row
  local is_around = line
    and (line - 1 > first.line or line - 1 == first.line and first.character == 0)
    and line - 1 <= last.line
  local size = (last.line - first.line) * 10000 + last.character - first.character
  return (is_around and math.min(far, 1) or far) + size / 1e9
end

---The nearest symbol with a name.
---@param line? integer 1-based
---@param wanted string its name
---@param names table<string, true> collects all names
---@return claude-ide.language.Symbol?
local function best_of(symbols, text, line, wanted, names)
  local best
  for _, symbol in ipairs(symbols) do
    names[symbol.name] = true
    local is_named = symbol.name == text or symbol.name:match("^[%w_\128-\255~!?]+") == wanted
    if is_named and (not best or distance(symbol, line) < distance(best, line)) then
      best = symbol
    end
  end
  return best
end

---@param best claude-ide.language.Symbol
---@return claude-ide.language.Definition
---@return claude-ide.language.Place
local function definition_of(buf, best, wanted, encoding)
  local row = best.name_at.line
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local col = require("claude-ide.language.encoding").byte(line, best.name_at.character, encoding)
  local at = line:find(wanted, col + 1, true) -- some servers select the whole definition
  local place = { buf = buf, row = row, col = at and at - 1 or col, name = wanted }
  return { name = best.name, range = best.range, encoding = encoding }, place
end

---The definition whose name is at a place, from its first line to its last. Not the definition of a use, nor the one around the place.
---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer }
---@return claude-ide.language.Definition
---@return claude-ide.language.Place
function M.definition(task, args)
  local locate, lsp = require("claude-ide.language.locate"), require("claude-ide.lsp")
  local buf = locate.buffer(task, args.path)
  local clients, why_not = {}, nil ---@type vim.lsp.Client[], string?
  local may_parse = M.has_parser(buf)
  if not may_parse or #lsp.clients(buf) > 0 or lsp.is_starting(buf) then
    clients, why_not =
      require("claude-ide.language.servers").wait(task, buf, METHOD, "list the symbols of a file")
  end
  local tree = #clients == 0 and may_parse and of_tree(task, buf) or nil
  if why_not and not tree then
    task:fail(why_not)
  end
  local symbol = locate.bare(args.symbol)
  local wanted = symbol:match("^.*[^%w_\128-\255~!?](.+)$") or symbol
  local names = {} ---@type table<string, true>
  for _, client in ipairs(clients) do
    local best = best_of(of_server(task, buf, client), symbol, args.line, wanted, names)
    if best then
      return definition_of(buf, best, wanted, client.offset_encoding or "utf-16")
    end
  end
  local best = tree and best_of(tree, symbol, args.line, wanted, names)
  if best then
    return definition_of(buf, best, wanted, "utf-8")
  end
  local known = vim.tbl_keys(names)
  table.sort(known)
  local listed = #known > 0 and (" Its symbols: " .. table.concat(vim.list_slice(known, 1, 40), ", ") .. ".")
    or ""
  local called = require("claude-ide.language.lines").brief(args.symbol)
  task:fail(("%s has no symbol `%s`.%s"):format(locate.shown(args.path), called, listed))
  error("a task that failed has ended")
end

return M
