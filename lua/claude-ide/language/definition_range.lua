-- The whole of a symbol's definition, from its first line to its last, as its language server draws it; where no server lists
-- symbols, as the syntax tree does.
-- LSP 3.17, "textDocument/documentSymbol".
local M = {}

local METHOD = "textDocument/documentSymbol"

---@class claude-ide.language.Definition
---@field name string
---@field range lsp.Range
---@field encoding claude-ide.changeset.Encoding how its columns count

---@param range lsp.Range
---@param row integer 0-based
---@param character integer as the server counts
local function holds(range, row, character)
  local first, last = range.start, range["end"]
  local after_start = row > first.line or row == first.line and character >= first.character
  local before_end = row < last.line or row == last.line and character <= last.character
  return after_start and before_end
end

---The symbols of an answer, flat; those within others come after them.
---@param symbols table[] DocumentSymbol or SymbolInformation
---@param placed fun(range: lsp.Range): lsp.Range
local function flat(symbols, into, placed)
  for _, symbol in ipairs(symbols) do
    local range = symbol.range or symbol.location and symbol.location.range
    if range then
      local selection = placed(symbol.selectionRange or range)
      into[#into + 1] = { name = symbol.name, range = placed(range), selection = selection }
    end
    if type(symbol.children) == "table" then
      flat(symbol.children, into, placed)
    end
  end
  return into
end

---@param range lsp.Range
local function size(range)
  return (range["end"].line - range.start.line) * 10000 + range["end"].character - range.start.character
end

---@class claude-ide.language.Listed what may be meant
---@field name string
---@field range lsp.Range
---@field selection lsp.Range

---The symbols of the syntax tree.
---@return claude-ide.language.Listed[]?
local function of_tree(task, buf)
  local symbols = require("claude-ide.language.outline").of_tree(task, buf)
  return symbols
    and vim.tbl_map(function(symbol)
      local at = { line = symbol.at, character = 0 }
      return { name = symbol.name, range = symbol.range, selection = { start = at, ["end"] = at } }
    end, symbols)
end

---The one that is called so, and nearest to the line.
---@param symbols claude-ide.language.Listed[]
---@param text string of the symbol
---@param line? integer 1-based
---@param wanted string its name
---@param names table<string, true> is added to
---@return claude-ide.language.Listed?
local function best_of(symbols, text, line, wanted, names)
  local best, best_score
  for _, symbol in ipairs(symbols) do
    names[symbol.name] = true
    local is_named = symbol.name == text or symbol.name:match("^[%w_\128-\255~!?]+") == wanted
    if is_named then
      local row = symbol.selection.start.line
      local far = line and math.abs(row - (line - 1)) or row
      if line and holds(symbol.range, line - 1, 0) then
        far = math.min(far, 1)
      end
      local score = far + size(symbol.range) / 1e9
      if not best or score < best_score then
        best, best_score = symbol, score
      end
    end
  end
  return best
end

---@param best claude-ide.language.Listed
---@param encoding claude-ide.changeset.Encoding
---@return claude-ide.language.Definition
---@return claude-ide.language.Place
local function found(buf, best, wanted, encoding)
  local row = best.selection.start.line
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local col = require("claude-ide.language.encoding").byte(line, best.selection.start.character, encoding)
  local at = line:find(wanted, col + 1, true) -- some servers select all of the definition
  local place = { buf = buf, row = row, col = at and at - 1 or col, name = wanted }
  return { name = best.name, range = best.range, encoding = encoding }, place
end

---The definition whose name stands at a place. Where the place is a use of it, or within its body, it is not meant.
---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer }
---@return claude-ide.language.Definition
---@return claude-ide.language.Place
function M.find(task, args)
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local buf = locate.buffer(task, args.path)
  local shown = locate.shown(args.path)
  local lsp = require("claude-ide.lsp")
  local clients, why_not = {}, nil ---@type vim.lsp.Client[], string?
  local may_parse = require("claude-ide.language.outline").has_parser(buf)
  if not may_parse or #lsp.clients(buf) > 0 or lsp.is_starting(buf) then
    clients, why_not = servers.wait(task, buf, METHOD, "list the symbols of a file")
  end
  local tree = #clients == 0 and may_parse and of_tree(task, buf) or nil
  if why_not and not tree then
    task:fail(why_not)
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
  local symbol = locate.bare(args.symbol)
  local wanted = symbol:match("^.*[^%w_\128-\255~!?](.+)$") or symbol
  local names = {} ---@type table<string, true>
  for _, client in ipairs(clients) do
    local breaks = require("claude-ide.language.breaks")
    breaks.of(task, client, buf)
    local symbols = require("claude-ide.language.request").send(task, client, METHOD, params, buf)
    local listed = flat(type(symbols) == "table" and symbols or {}, {}, function(range)
      return breaks.range(client, buf, range)
    end)
    local best = best_of(listed, symbol, args.line, wanted, names)
    if best then
      return found(buf, best, wanted, client.offset_encoding or "utf-16")
    end
  end
  local best = tree and best_of(tree, symbol, args.line, wanted, names)
  if best then
    return found(buf, best, wanted, "utf-8")
  end
  local known = vim.tbl_keys(names)
  table.sort(known)
  local listed = #known > 0 and (" Its symbols: " .. table.concat(vim.list_slice(known, 1, 40), ", ") .. ".")
    or ""
  local called = require("claude-ide.language.lines").brief(args.symbol)
  task:fail(("%s has no symbol `%s`.%s"):format(shown, called, listed))
  error("a task that failed has ended")
end

return M
