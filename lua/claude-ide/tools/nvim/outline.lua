-- outline: the symbols of one file, as a tree.

---Variables within functions are no outline: a server that names them all would drown the rest.
local MAX_DETAIL = 60

---@param symbol claude-ide.language.Symbol
local function line_of(symbol)
  local lines = symbol.first == symbol.last and tostring(symbol.first)
    or ("%d-%d"):format(symbol.first, symbol.last)
  local detail = symbol.detail and " " .. require("claude-ide.position").truncate(symbol.detail, MAX_DETAIL)
    or ""
  local text = ("%s%s %s%s"):format(("  "):rep(symbol.depth), symbol.kind, symbol.name, detail)
  return require("claude-ide.position").valid(("%s  %s"):format(text:gsub("\n", " "), lines))
end

return require("claude-ide.language.task").tool(function(task, args)
  local locate, outline = require("claude-ide.language.locate"), require("claude-ide.language.outline")
  local buf = locate.buffer(task, args.path)
  local symbols, source = outline.of(task, buf)
  local shown = locate.shown(args.path)
  if not symbols then
    task:fail(("neither a language server nor a parser of the editor knows the language of %s"):format(shown))
  elseif #symbols == 0 then
    return { text = ("%s has no symbols (%s)."):format(shown, source) }
  end
  ---@cast symbols claude-ide.language.Symbol[]
  local unsaved = vim.bo[buf].modified and ", with unsaved changes" or ""
  return require("claude-ide.language.answer").pages(task, {
    head = ("%s, %d lines (%s%s):"):format(shown, vim.api.nvim_buf_line_count(buf), source, unsaved),
    count = #symbols,
    entry = function(index)
      return { text = line_of(symbols[index]) }
    end,
    cursor = args.cursor,
  })
end)
