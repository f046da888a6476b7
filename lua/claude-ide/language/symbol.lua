-- Finds a symbol that a model names, by its file, text and line: a position in a buffer, and in a request.
local locate = require("claude-ide.language.locate")
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local code = lazy("claude-ide.language.code")
local outline = lazy("claude-ide.language.outline")
local position = lazy("claude-ide.base.position")

local M = {}

---Columns where a text occurs in a line as whole words.
---@return integer[] 0-based byte columns
local function columns(line, text)
  local found, from = {}, 1
  local first_is_word, last_is_word = text:find("^[%w_]") ~= nil, text:find("[%w_]$") ~= nil
  while true do
    local first, last = line:find(text, from, true)
    if not first then
      return found
    end
    local before, after = line:sub(first - 1, first - 1), line:sub(last + 1, last + 1)
    local whole = not (first_is_word and first > 1 and before:find("[%w_]"))
      and not (last_is_word and after:find("[%w_]"))
    if whole then
      found[#found + 1] = first - 1
    end
    from = first + 1
  end
end

---The last name of a qualified symbol: `Parser.parse` means `parse`.
---@return string name
---@return integer offset in bytes
local function name_of(symbol)
  local begins = symbol:match("^.*[%.:#>/\\%s]()[%w_\128-\255]")
  local offset = (begins or 1) --[[@as integer]]
  return symbol:sub(offset), offset - 1
end

---@class claude-ide.language.Place
---@field buf integer
---@field row integer 0-based
---@field col integer 0-based bytes
---@field name string unqualified
---@field note? string for the model, if the line differs from the given one

---Where a text stands as code, nearest to a row; in a comment or a string only if it stands nowhere else.
---@param task claude-ide.language.Task
---@param near integer? 0-based row
---@return integer? row
---@return integer? col
---@return boolean? is_code
local function search(task, buf, text, near)
  local best, best_col, is_best_code ---@type integer?, integer?, boolean?
  local is_code = code.judge(buf)
  for index, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    local row = index - 1
    if line:find(text, 1, true) then
      for _, col in ipairs(columns(line, text)) do
        local found_code = is_code(row, col)
        local is_nearer = not best or near and math.abs(row - near) < math.abs(best - near)
        if found_code and not is_best_code or found_code == (is_best_code or false) and is_nearer then
          best, best_col, is_best_code = row, col, found_code
        end
      end
      if is_best_code and (not near or row >= near) then
        break -- the rest is further away
      end
      task:breathe()
    end
  end
  return best, best_col, is_best_code
end

---Finds a symbol in a buffer: in the given line, else nearest to it. Without a line: where it is declared, else where it stands first.
---@param task claude-ide.language.Task
---@param buf integer
---@param symbol string
---@param lnum? integer 1-based
---@return claude-ide.language.Place
function M.symbol(task, buf, symbol, lnum)
  local shown = locate.shown(vim.api.nvim_buf_get_name(buf))
  symbol = locate.bare(symbol)
  local declared = not lnum and outline.declared(task, buf, symbol)
  if declared then
    return declared
  end
  local name, offset = name_of(symbol)
  local count = vim.api.nvim_buf_line_count(buf)
  local near = lnum and math.min(lnum, count) - 1 or nil
  local row, col, is_code = search(task, buf, symbol, near)
  if not is_code and name ~= symbol then
    local named_row, named_col, is_named_code = search(task, buf, name, near)
    if not row or is_named_code then
      row, col, offset, is_code = named_row, named_col, 0, is_named_code
    end
  end
  if not row or not col then
    task:fail(("`%s` is not in %s"):format(position.truncate(symbol, 80), shown))
  end
  ---@cast row integer
  ---@cast col integer
  local note ---@type string?
  if not is_code then
    note = ("(`%s` is only in comments and strings of the file; taken from line %d.)"):format(name, row + 1)
  elseif lnum and row ~= lnum - 1 then
    note = ("(`%s` is not in line %d; taken from line %d, the nearest.)"):format(name, lnum, row + 1)
  end
  return { buf = buf, row = row, col = col + offset, name = name, note = note }
end

---The place given by `path`, `symbol` and `line`.
---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer }
---@return claude-ide.language.Place
function M.place(task, args)
  return M.symbol(task, locate.buffer(task, args.path), args.symbol, args.line)
end

---A place as parameters of a request.
---LSP 3.17, "TextDocumentPositionParams".
---@param task claude-ide.language.Task
---@param place claude-ide.language.Place
---@param client vim.lsp.Client
---@return { textDocument: { uri: string }, position: { line: integer, character: integer } }
function M.params(task, place, client)
  breaks.of(task, client, place.buf)
  return {
    textDocument = { uri = vim.uri_from_bufnr(place.buf) },
    position = breaks.position(client, place.buf, place.row, place.col),
  }
end

return M
