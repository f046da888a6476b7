-- Detects whether a language server counts a lone CR, U+2028 and U+2029 as line breaks, from the ranges of symbols that it reports, and
-- converts positions.
local lazy = require("claude-ide.lazy")
local language_encoding = lazy("claude-ide.language.encoding")
local line_breaks = lazy("claude-ide.base.line_breaks")
local lsp = lazy("claude-ide.base.lsp")
local request = lazy("claude-ide.language.request")

local M = {}

local METHOD = "textDocument/documentSymbol"

---@type table<integer, claude-ide.LineBreaks> by client
local known = {}

---Clients whose way was confirmed by a text with all of these characters.
---@type table<integer, true>
local sure = {}

---@return string[]? lines nil: all servers count them alike
local function odd_lines(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  return line_breaks.differ(table.concat(lines, "\n")) and lines or nil
end

---Number of symbols whose reported range contains their name.
---@param kind claude-ide.LineBreaks
local function count_named(symbols, lines, kind, encoding)
  local count = 0
  for _, symbol in ipairs(type(symbols) == "table" and symbols or {}) do
    local range = symbol.selectionRange or symbol.location and symbol.location.range
    if range and type(symbol.name) == "string" then
      local _, piece = line_breaks.from_server(lines, kind, range.start.line)
      local col = language_encoding.byte(piece.text, range.start.character, encoding)
      count = count + (piece.text:sub(col + 1, col + #symbol.name) == symbol.name and 1 or 0)
    end
    count = count + count_named(symbol.children, lines, kind, encoding)
  end
  return count
end

---Detects how a server counts lines, if it matters for the buffer or is known.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
---@param buf integer
---@return claude-ide.LineBreaks? breaks nil: unknown
function M.of(task, client, buf)
  local lines = not sure[client.id] and odd_lines(buf)
  if lines and lsp.supports(client, METHOD, buf) then
    local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    local symbols = request.send(task, client, METHOD, params, buf)
    local best, most, is_clear, total, kinds = nil, -1, false, 0, 0
    for _, kind in ipairs(line_breaks.KINDS) do
      local lines_of_kind = line_breaks.to_server(lines, kind, #lines, 0)
      if lines_of_kind > total then -- else it counts like the previous kind here
        local count = count_named(symbols, lines, kind, client.offset_encoding or "utf-16")
        is_clear = count ~= most and (count > most or is_clear)
        best, most = count > most and kind or best, math.max(count, most)
        total, kinds = lines_of_kind, kinds + 1
      end
    end
    known[client.id] = is_clear and best or known[client.id]
    sure[client.id] = is_clear and kinds == #line_breaks.KINDS or nil
  end
  return known[client.id]
end

---How a server counts lines, if already detected.
---@param client_id integer
---@return claude-ide.LineBreaks? breaks nil: unknown
function M.known(client_id)
  return known[client_id]
end

---A buffer position in a server's terms.
---@param client vim.lsp.Client
---@param buf integer
---@param row integer 0-based
---@param col integer 0-based bytes
---@return { line: integer, character: integer }
function M.position(client, buf, row, col)
  local kind = known[client.id] or "lf"
  local units = client.offset_encoding or "utf-16"
  local lines = kind ~= "lf" and odd_lines(buf)
  if not lines then
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    return { line = row, character = language_encoding.character(line, col, units) }
  end
  local line, piece = line_breaks.to_server(lines, kind, row, col)
  return {
    line = line,
    character = language_encoding.character(piece.text, col - piece.at --[[@as integer]], units),
  }
end

---A server's range with Neovim's rows; columns stay in the server's units.
---@param client vim.lsp.Client
---@param buf integer
---@param range lsp.Range
---@return lsp.Range
function M.range(client, buf, range)
  local kind = known[client.id] or "lf"
  local lines = kind ~= "lf" and odd_lines(buf)
  if not lines then
    return range
  end
  ---@param position lsp.Position
  ---@return lsp.Position
  local function at(position)
    local row, piece = line_breaks.from_server(lines, kind, position.line)
    local before = (lines[row + 1] or ""):sub(1, piece.at)
    local units = language_encoding.character(before, #before, client.offset_encoding or "utf-16")
    return { line = row, character = units + position.character }
  end
  return { start = at(range.start), ["end"] = at(range["end"]) }
end

return M
