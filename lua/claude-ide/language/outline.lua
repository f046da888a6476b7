-- The symbols of a file as a tree, and the definition of one: from its language server, else from treesitter.
-- LSP 3.17, "textDocument/documentSymbol".
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local language_encoding = lazy("claude-ide.language.encoding")
local language_lines = lazy("claude-ide.language.lines")
local locate = lazy("claude-ide.language.locate")
local lsp = lazy("claude-ide.base.lsp")
local native = lazy("claude-ide.library.native")
local request = lazy("claude-ide.language.request")
local servers = lazy("claude-ide.language.servers")

local M = {}

local METHOD = "textDocument/documentSymbol"

---@type string[]?
local kinds

---The name of a symbol kind. The library has the list, which is also in the schema of `symbols`.
---LSP 3.17, "SymbolKind".
---@param kind any
---@return string
function M.kind(kind)
  kinds = kinds or native.symbol_kinds() or {}
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
  local result = request.send(task, client, METHOD, params, buf)
  local symbols = {}
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
  return language_lines.brief(text:match("^[^\n]*") or "")
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
---@field range lsp.Range columns in bytes
---@field others lsp.Position[] names of other symbols in its lines that are no part of it; columns in bytes

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

---The last name of a qualified symbol, and the name before it: "Parser" of `Parser.parse`.
---@param symbol string
---@return string wanted
---@return string? container
local function parts_of(symbol)
  local before, wanted = symbol:match("^(.*[^%w_\128-\255~!?])(.+)$")
  return wanted or symbol, before and before:match("([%w_\128-\255]+)[^%w_\128-\255]*$")
end

---@class claude-ide.language.Found
---@field symbols claude-ide.language.Symbol[] all of the file
---@field matches integer[] indexes of those that are meant
---@field wanted string the name without its containers
---@field encoding claude-ide.changeset.Encoding of their columns

---@param symbols claude-ide.language.Symbol[] as in a tree
---@param at integer
---@return string? container name of the symbol around it
local function container_of(symbols, at)
  for i = at - 1, 1, -1 do
    if symbols[i].depth < symbols[at].depth then
      return symbols[i].name
    end
  end
end

---The symbols with a name. A name with its container, as `Parser.parse`, means only those of that container, if there are some.
---@param symbols claude-ide.language.Symbol[]
---@param text string
---@return integer[] indexes
---@return string wanted
local function matches_of(symbols, text)
  local wanted, container = parts_of(text)
  local whole, contained, named = {}, {}, {}
  for i, symbol in ipairs(symbols) do
    -- gopls names a method `(*Parser).parse`.
    local receiver, name = symbol.name:match("^(%b())%.(.+)$")
    name = name or symbol.name
    if symbol.name == text then
      whole[#whole + 1] = i
    elseif name:match("^[%w_\128-\255~!?]+") == wanted then
      local around = container and (receiver or container_of(symbols, i)) or ""
      local is_contained = container and vim.list_contains(vim.split(around, "[^%w_\128-\255]+"), container)
      table.insert(is_contained and contained or named, i)
    end
  end
  return #whole > 0 and whole or #contained > 0 and contained or named, wanted
end

---@param line? integer 1-based
---@return integer index of the best match
local function best_of(found, line)
  local best = found.matches[1]
  for _, i in ipairs(found.matches) do
    if distance(found.symbols[i], line) < distance(found.symbols[best], line) then
      best = i
    end
  end
  return best
end

---@param found claude-ide.language.Found
---@param symbol claude-ide.language.Symbol
---@return claude-ide.language.Place
local function place_of(buf, found, symbol)
  local row = symbol.name_at.line
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local col = language_encoding.byte(line, symbol.name_at.character, found.encoding)
  local at = line:find(found.wanted, col + 1, true) -- some servers select the whole definition
  return { buf = buf, row = row, col = at and at - 1 or col, name = found.wanted }
end

---@param at integer index of the symbol
---@return claude-ide.language.Definition
local function definition_of(buf, found, at)
  local symbols = found.symbols
  local symbol = symbols[at]
  ---@param position lsp.Position
  ---@return lsp.Position
  local function in_bytes(position)
    local line = vim.api.nvim_buf_get_lines(buf, position.line, position.line + 1, false)[1] or ""
    return {
      line = position.line,
      character = language_encoding.byte(line, position.character, found.encoding),
    }
  end
  local first, last = symbol.range.start, symbol.range["end"]
  local others, behind = {}, at + 1
  while symbols[behind] and symbols[behind].depth > symbol.depth do
    behind = behind + 1
  end
  for i, other in ipairs(symbols) do
    local row = other.name_at.line
    local is_beside = (i < at or i >= behind) and row >= first.line and row <= last.line
    others[#others + 1] = is_beside and in_bytes(other.name_at) or nil
  end
  return {
    name = symbol.name,
    range = { start = in_bytes(first), ["end"] = in_bytes(last) },
    others = others,
  }
end

---Symbols of a file with a name, by its language servers or its syntax tree.
---@param task claude-ide.language.Task
---@param buf integer
---@param symbol string
---@param names? table<string, true> collects all names
---@return claude-ide.language.Found? nil: there is none
---@return string? why_not nobody could be asked
local function find(task, buf, symbol, names)
  local clients, why_not = {}, nil ---@type vim.lsp.Client[], string?
  local may_parse = M.has_parser(buf)
  if not may_parse or #lsp.clients(buf) > 0 or lsp.is_starting(buf) then
    clients, why_not = servers.wait(task, buf, METHOD, "list the symbols of a file")
  end
  ---@param symbols claude-ide.language.Symbol[]
  ---@return claude-ide.language.Found?
  local function among(symbols, encoding)
    for _, one in ipairs(symbols) do
      if names then
        names[one.name] = true
      end
    end
    local matches, wanted = matches_of(symbols, symbol)
    return #matches > 0 and { symbols = symbols, matches = matches, wanted = wanted, encoding = encoding }
      or nil
  end
  for _, client in ipairs(clients) do
    local found = among(of_server(task, buf, client), client.offset_encoding or "utf-16")
    if found then
      return found
    end
  end
  local tree = #clients == 0 and may_parse and of_tree(task, buf) or nil
  return tree and among(tree, "utf-8") or nil, not tree and why_not or nil
end

---Lines of several symbols with one name.
---@param found claude-ide.language.Found
---@return string "3, 10"
local function lines_of(found)
  local lines = {}
  for _, i in ipairs(found.matches) do
    lines[#lines + 1] = found.symbols[i].name_at.line + 1
  end
  table.sort(lines)
  return table.concat(lines, ", ")
end

---Where a symbol is declared in a buffer.
---@param task claude-ide.language.Task
---@param buf integer
---@param symbol string
---@return claude-ide.language.Place? nil: the outline does not know it
function M.declared(task, buf, symbol)
  local is_known = lsp.is_starting(buf)
    or #lsp.clients(buf, METHOD) > 0
    or #lsp.clients(buf) == 0 and M.has_parser(buf)
  local found = is_known and find(task, buf, symbol) or nil
  if not found then
    return nil
  end
  local place = place_of(buf, found, found.symbols[best_of(found)])
  if #found.matches > 1 then
    place.note = ("(`%s` is declared in lines %s; taken from line %d. Pass `line` for another one.)"):format(
      place.name,
      lines_of(found),
      place.row + 1
    )
  end
  return place
end

---The definition whose name is at a place, from its first line to its last. Not the definition of a use, nor the one around the place.
---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer }
---@return claude-ide.language.Definition
---@return claude-ide.language.Place
function M.definition(task, args)
  local buf, names = locate.buffer(task, args.path), {} ---@type integer, table<string, true>
  local found, why_not = find(task, buf, locate.bare(args.symbol), names)
  local called = language_lines.brief(args.symbol)
  if found and #found.matches > 1 and not args.line then
    task:fail(
      ("%s has several symbols `%s`, in lines %s: pass `line`"):format(
        locate.shown(args.path),
        called,
        lines_of(found)
      )
    )
  elseif found then
    local at = best_of(found, args.line)
    return definition_of(buf, found, at), place_of(buf, found, found.symbols[at])
  elseif why_not then
    task:fail(why_not)
  end
  local known = vim.tbl_keys(names)
  table.sort(known)
  local listed = #known > 0 and (" Its symbols: " .. table.concat(vim.list_slice(known, 1, 40), ", ") .. ".")
    or ""
  task:fail(("%s has no symbol `%s`.%s"):format(locate.shown(args.path), called, listed))
  error("a task that failed has ended")
end

return M
