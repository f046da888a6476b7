-- Edits by language servers or by symbol; each becomes a changeset (changes.lua).
local M = {}

local tool = require("claude-ide.language.task").tool

local function propose(task, changes)
  return require("claude-ide.tools.changes").propose(task, changes)
end

---Renames a symbol.
M.rename = tool(function(task, args)
  local method = "textDocument/rename"
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local place = locate.place(task, args)
  local clients = servers.need(task, place.buf, method, "rename")
  local problem ---@type string?
  for _, client in ipairs(clients) do
    local params = vim.tbl_extend("error", locate.params(task, place, client), { newName = args.new_name })
    local asked
    local edit, err = require("claude-ide.language.ready").steady(task, client, place.buf, function()
      asked = require("claude-ide.tools.changes").asked(client, place.name)
      return require("claude-ide.language.request").send(task, client, method, params, place.buf)
    end)
    problem = problem or err
    if edit then
      local answer = propose(task, {
        title = ("Rename %s to %s"):format(place.name, args.new_name),
        edits = { asked(edit) },
        none = ("`%s` has that name already; nothing was changed."):format(place.name),
      })
      return { text = place.note and place.note .. "\n" .. answer.text or answer.text }
    end
  end
  return task:fail(problem or ("%s cannot rename `%s`"):format(servers.names(clients), place.name))
end)

---Formats a file.
M.format = tool(function(task, args)
  local method, locate = "textDocument/formatting", require("claude-ide.language.locate")
  local buf, shown = locate.buffer(task, args.path), locate.shown(args.path)
  local client = require("claude-ide.language.servers").need(task, buf, method, "format")[1]
  local uri, bo = vim.uri_from_bufnr(buf), vim.bo[buf]
  local params = {
    textDocument = { uri = uri },
    options = {
      tabSize = bo.shiftwidth > 0 and bo.shiftwidth or bo.tabstop,
      insertSpaces = bo.expandtab,
    },
  }
  require("claude-ide.language.breaks").of(task, client, buf)
  local asked = require("claude-ide.tools.changes").asked(client)
  local edits, err = require("claude-ide.language.request").send(task, client, method, params, buf)
  if err then
    task:fail(err)
  end
  return propose(task, {
    title = "Format " .. vim.fs.basename(shown),
    edits = { asked({ changes = { [uri] = edits or {} } }) },
    none = ("%s is formatted already; nothing was changed."):format(shown),
  })
end)

-- By symbol. Columns are those of the symbol's source: a server, or the syntax tree.

local function line_at(buf, row)
  return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
end

---Decorators and attributes belong to the line below them.
---@return integer row first of them
local function with_decorators(buf, row)
  while
    row > 0
    and line_at(buf, row - 1):find("^%s*[@#]%[?%a")
    and not line_at(buf, row - 1):find("^%s*#%s*%l*%s")
  do
    row = row - 1
  end
  return row
end

---@return string text with a final newline
local function whole_lines(text)
  return text:sub(-1) == "\n" and text or text .. "\n"
end

---@return lsp.Range
local function at_position(line, character)
  local place = { line = line, character = character }
  return { start = place, ["end"] = place }
end

---@return integer row last line, 0-based
local function last_row(range)
  local last = range["end"]
  return last.character == 0 and last.line > range.start.line and last.line - 1 or last.line
end

---@return integer character end of the line, in the definition's columns
local function length(buf, row, definition)
  local line = line_at(buf, row)
  return require("claude-ide.language.encoding").character(line, #line, definition.encoding)
end

---Replaces the whole definition.
---@return lsp.TextEdit
local function replacement(buf, definition, body)
  local range = definition.range
  local first = line_at(buf, range.start.line)
  local col = require("claude-ide.language.encoding").byte(first, range.start.character, definition.encoding)
  local lead = first:sub(1, col)
  -- Text before it in the line stays: do not repeat the indent.
  if lead:find("^%s+$") and vim.startswith(body, lead) then
    body = body:sub(#lead + 1)
  end
  if range["end"].character > 0 or range["end"].line == range.start.line then
    body = body:gsub("\n+$", "")
  end
  return { range = range, newText = body }
end

---@return lsp.TextEdit
local function insertion_before(buf, definition, text)
  local row = with_decorators(buf, definition.range.start.line)
  return { range = at_position(row, 0), newText = whole_lines(text) }
end

---@return lsp.TextEdit
local function insertion_after(buf, definition, text)
  local row = last_row(definition.range)
  if row + 1 >= vim.api.nvim_buf_line_count(buf) and not vim.bo[buf].endofline then
    -- Keep a missing final newline.
    local range = at_position(row, length(buf, row, definition))
    return { range = range, newText = "\n" .. text:gsub("\n$", "") }
  end
  return { range = at_position(row + 1, 0), newText = whole_lines(text) }
end

---Deletes the definition and the blank lines after it.
---@return lsp.TextEdit
local function deletion(buf, definition)
  local first, last = with_decorators(buf, definition.range.start.line), last_row(definition.range)
  local count = vim.api.nvim_buf_line_count(buf)
  local blank_before = first == 0 or line_at(buf, first - 1) == ""
  local after = last + 1
  while blank_before and after < count and line_at(buf, after) == "" do
    after = after + 1
  end
  local range = { start = { line = first, character = 0 }, ["end"] = { line = after, character = 0 } }
  if after >= count and not vim.bo[buf].endofline then
    range["end"] = { line = count - 1, character = length(buf, count - 1, definition) }
  end
  return { range = range, newText = "" }
end

---@param edit lsp.TextEdit
local function propose_here(task, title, place, definition, edit, none)
  return propose(task, {
    title = title:format(place.name),
    edits = {
      {
        edit = { changes = { [vim.uri_from_bufnr(place.buf)] = { edit } } },
        encoding = definition.encoding,
        breaks = "lf",
      },
    },
    none = none,
  })
end

---A tool that writes a text at a symbol.
---@param argument string name of the text's argument
---@param edit_of fun(buf: integer, definition: claude-ide.language.Definition, text: string): lsp.TextEdit
local function at_symbol(title, argument, edit_of)
  return tool(function(task, args)
    local definition, place = require("claude-ide.language.outline").definition(task, args)
    local edit = edit_of(place.buf, definition, args[argument])
    local none = "The file holds just that already; nothing was changed."
    return propose_here(task, title, place, definition, edit, none)
  end)
end

M.replace_symbol_body = at_symbol("Replace %s", "body", replacement)
M.insert_before_symbol = at_symbol("Insert before %s", "text", insertion_before)
M.insert_after_symbol = at_symbol("Insert after %s", "text", insertion_after)

---Maximum number of uses to list.
local MAX_LISTED = 60

---@return boolean whether a use is inside the definition
local function is_within(location, place, range, client)
  local line = require("claude-ide.language.breaks").range(client, place.buf, location.range).start.line
  return location.uri == vim.uri_from_bufnr(place.buf)
    and range.start.line <= line
    and line <= range["end"].line
end

local function use_line(location)
  local path, row = vim.uri_to_fname(location.uri), location.range.start.line
  local buf, text = require("claude-ide.buffer").loaded(path), ""
  if buf then
    text = line_at(buf, row)
  else
    local bytes = require("claude-ide.file").read_now(path, 1024 * 1024) or ""
    text = vim.split(bytes, "\n", { plain = true })[row + 1] or ""
  end
  local position = require("claude-ide.position")
  local shown = require("claude-ide.language.locate").shown(path)
  return ("  %s:%d: %s"):format(shown, row + 1, position.truncate(position.valid(vim.trim(text)), 120))
end

---@return string reason why nothing is deleted
local function still_used(task, place, uses)
  local answer, lines = require("claude-ide.language.answer"), {}
  for i = 1, math.min(#uses, MAX_LISTED) do
    local may_be_told = not require("claude-ide.language.locate").refusal(vim.uri_to_fname(uses[i].uri))
    lines[i] = may_be_told and use_line(uses[i]) or "  a file that is outside of the workspace or private"
    task:breathe()
  end
  local head = ("nothing was deleted: `%s` is still used in %s:"):format(
    place.name,
    require("claude-ide.counted")(#uses, "place")
  )
  local more = #uses > MAX_LISTED and ("\n  … and %d more"):format(#uses - MAX_LISTED) or ""
  return answer.cut(head .. "\n" .. table.concat(lines, "\n") .. more)
end

---Deletes a definition that is not used; otherwise lists the uses.
M.safe_delete = tool(function(task, args)
  local method = "textDocument/references"
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local definition, place = require("claude-ide.language.outline").definition(task, args)
  local clients, why_not = servers.wait(task, place.buf, method, "find references")
  local uses = {}
  for _, client in ipairs(clients) do
    local context = { context = { includeDeclaration = false } }
    local params = vim.tbl_extend("error", locate.params(task, place, client), context)
    local found, err = require("claude-ide.language.ready").steady(task, client, place.buf, function()
      return require("claude-ide.language.request").send(task, client, method, params, place.buf)
    end)
    why_not = why_not or err
    for _, location in ipairs(found or {}) do
      if not is_within(location, place, definition.range, client) then
        uses[#uses + 1] = location
      end
    end
  end
  if why_not then
    task:fail(("nothing was deleted: %s"):format(why_not))
  elseif #uses > 0 then
    task:fail(still_used(task, place, uses))
  end
  local edit = deletion(place.buf, definition)
  return propose_here(task, "Delete %s", place, definition, edit, "It is gone already; nothing was changed.")
end)

return M
