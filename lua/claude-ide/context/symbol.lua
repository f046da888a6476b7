-- `#symbol`: the function, class or section around the cursor, by a language server or treesitter; also lists a file's symbols, for
-- edits of a part of it.
local lazy = require("claude-ide.lazy")
local lines = lazy("claude-ide.context.lines")
local outline = lazy("claude-ide.language.outline")
local place = lazy("claude-ide.context.place")
local task = lazy("claude-ide.language.task")

local M = {}

---Timeout of a language server.
local PATIENCE_MS = 3000

---@param buf integer
---@param done fun(symbols?: claude-ide.language.Symbol[]) once
function M.list(buf, done)
  local is_over = false
  local function finish(symbols)
    if not is_over then
      is_over = true
      done(symbols)
    end
  end
  local call = task.run("#symbol", function(one)
    return (outline.of(one, buf))
  end, finish)
  if not is_over then
    vim.defer_fn(function()
      if not is_over then
        task.cancel(call)
        finish(nil)
      end
    end, PATIENCE_MS)
  end
end

---@param symbols claude-ide.language.Symbol[]
---@param lnum integer
---@return claude-ide.language.Symbol? symbol the innermost around a line
function M.around(symbols, lnum)
  local best ---@type claude-ide.language.Symbol?
  for _, symbol in ipairs(symbols) do
    local holds = symbol.first <= lnum and lnum <= symbol.last and symbol.last > symbol.first
    if holds and (not best or symbol.last - symbol.first <= best.last - best.first) then
      best = symbol
    end
  end
  return best
end

---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.read(at, _, done)
  local buf = at.buf
  local why = buf and place.withheld(buf)
  if not buf or why then
    return done(nil, why or "there is no file beside it")
  end
  local lnum = 1
  if at.win and vim.api.nvim_win_is_valid(at.win) and vim.api.nvim_win_get_buf(at.win) == buf then
    lnum = vim.api.nvim_win_get_cursor(at.win)[1]
  end
  M.list(buf, function(symbols)
    if not vim.api.nvim_buf_is_loaded(buf) then
      return done(nil, "the file is closed")
    elseif not symbols then
      return done(nil, "neither a language server nor a parser knows this language")
    end
    local symbol = M.around(symbols, lnum)
    if not symbol then
      return done(nil, ("no symbol is around line %d"):format(lnum))
    end
    local text = lines.of(buf, symbol.first, symbol.last)
    done({ text = ("%s %s of %s"):format(symbol.kind, symbol.name, text) })
  end)
end

return M
