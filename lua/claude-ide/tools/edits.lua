-- Edits by language servers or by symbol; each becomes a changeset (changes.lua).
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local counted = lazy("claude-ide.base.counted")
local language_extent = lazy("claude-ide.language.extent")
local language_lines = lazy("claude-ide.language.lines")
local listed = lazy("claude-ide.base.listed")
local locate = lazy("claude-ide.language.locate")
local outline = lazy("claude-ide.language.outline")
local paging = lazy("claude-ide.language.paging")
local ready = lazy("claude-ide.language.ready")
local request = lazy("claude-ide.language.request")
local servers = lazy("claude-ide.language.servers")
local symbol = lazy("claude-ide.language.symbol")
local tools_changes = lazy("claude-ide.tools.changes")
local words = lazy("claude-ide.language.words")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Renames a symbol.
M.rename = tool(function(task, args)
  local method = "textDocument/rename"
  local place = symbol.place(task, args)
  local clients = servers.need(task, place.buf, method, "rename")
  local problem ---@type string?
  for _, client in ipairs(clients) do
    local params = vim.tbl_extend("error", symbol.params(task, place, client), { newName = args.new_name })
    local asked ---@type fun(edit: table): table
    local edit, err = ready.steady(task, client, place.buf, function()
      asked = tools_changes.asked(client, place.name)
      return request.send(task, client, method, params, place.buf)
    end)
    problem = problem or err
    if edit then
      local answer = tools_changes.propose(task, {
        title = ("Rename %s to %s"):format(place.name, args.new_name),
        edits = {
          asked(edit) --[[@as claude-ide.changeset.ServerEdit]],
        },
        none = ("`%s` has that name already; nothing was changed."):format(place.name),
      })
      return { text = place.note and place.note .. "\n" .. answer.text or answer.text }
    end
  end
  return task:fail(problem or ("%s cannot rename `%s`"):format(servers.names(clients), place.name))
end)

---Formats a file.
M.format = tool(function(task, args)
  local method = "textDocument/formatting"
  local buf, shown = locate.buffer(task, args.path), locate.shown(args.path)
  local client = servers.need(task, buf, method, "format")[1]
  local uri, bo = vim.uri_from_bufnr(buf), vim.bo[buf]
  local params = {
    textDocument = { uri = uri },
    options = {
      tabSize = bo.shiftwidth > 0 and bo.shiftwidth or bo.tabstop,
      insertSpaces = bo.expandtab,
    },
  }
  breaks.of(task, client, buf)
  local asked = tools_changes.asked(client)
  local edits, err = request.send(task, client, method, params, buf)
  if err then
    task:fail(err)
  end
  return tools_changes.propose(task, {
    title = "Format " .. vim.fs.basename(shown),
    edits = { asked({ changes = { [uri] = edits or {} } }) },
    none = ("%s is formatted already; nothing was changed."):format(shown),
  })
end)

-- By symbol.

---@return string text with a final newline
local function whole_lines(text)
  return text:sub(-1) == "\n" and text or text .. "\n"
end

---@return lsp.Range
local function at_position(line, character)
  local place = { line = line, character = character }
  return { start = place, ["end"] = place }
end

---@return integer bytes
local function length(buf, row)
  return #(vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or "")
end

---@param extent claude-ide.language.Extent
---@return lsp.TextEdit
local function insertion_before(_, extent, text)
  return { range = at_position(extent.first, 0), newText = whole_lines(text) }
end

---@param extent claude-ide.language.Extent
---@return lsp.TextEdit
local function insertion_after(buf, extent, text)
  local row = extent.last
  if row + 1 >= vim.api.nvim_buf_line_count(buf) and not vim.bo[buf].endofline then
    -- Keep a missing final newline.
    return { range = at_position(row, length(buf, row)), newText = "\n" .. text:gsub("\n$", "") }
  end
  return { range = at_position(row + 1, 0), newText = whole_lines(text) }
end

---Deletes lines and the blank lines after them.
---@param extent claude-ide.language.Extent
---@return lsp.TextEdit
local function deletion(buf, extent)
  local function is_blank(row)
    return length(buf, row) == 0
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local blank_before = extent.first == 0 or is_blank(extent.first - 1)
  local after = extent.last + 1
  while blank_before and after < count and is_blank(after) do
    after = after + 1
  end
  local range = { start = { line = extent.first, character = 0 }, ["end"] = { line = after, character = 0 } }
  if after >= count and not vim.bo[buf].endofline then
    range["end"] = { line = count - 1, character = length(buf, count - 1) }
  end
  return { range = range, newText = "" }
end

---@param edit lsp.TextEdit columns in bytes
---@param doubt? string the user decides in every mode
local function propose_here(task, title, place, edit, none, doubt)
  return tools_changes.propose(task, {
    doubt = doubt,
    title = title:format(place.name),
    edits = {
      {
        edit = { changes = { [vim.uri_from_bufnr(place.buf)] = { edit } } },
        encoding = "utf-8",
        breaks = "lf",
      },
    },
    none = none,
  })
end

---@param why? string
---@return any never
local function refuse(task, place, why)
  local line = vim.trim(why or "?")
  return task:fail(
    ("nothing was changed: `%s` cannot be told exactly from the text beside it: %s. Edit the text itself instead."):format(
      place.name,
      paging.cut(line, 400)
    )
  )
end

---@return claude-ide.language.Extent
local function extent_of(task, place, definition)
  local extent, why_not = language_extent.lines(place.buf, definition)
  return extent or refuse(task, place, why_not) --[[@as claude-ide.language.Extent]]
end

local NONE = "The file holds just that already; nothing was changed."

---A tool that writes lines beside a symbol.
---@param edit_of fun(buf: integer, extent: claude-ide.language.Extent, text: string): lsp.TextEdit
local function beside_symbol(title, edit_of)
  return tool(function(task, args)
    local definition, place = outline.definition(task, args)
    local extent = extent_of(task, place, definition)
    return propose_here(task, title, place, edit_of(place.buf, extent, args.text), NONE)
  end)
end

M.insert_before_symbol = beside_symbol("Insert before %s", insertion_before)
M.insert_after_symbol = beside_symbol("Insert after %s", insertion_after)

---Replaces a whole definition.
M.replace_symbol_body = tool(function(task, args)
  local definition, place = outline.definition(task, args)
  local edit, why_not = language_extent.replacement(place.buf, definition, args.body)
  edit = edit or refuse(task, place, why_not)
  return propose_here(task, "Replace %s", place, edit --[[@as lsp.TextEdit]], NONE)
end)

---Maximum number of uses to list.
local MAX_LISTED = 60

---@param extent claude-ide.language.Extent
---@return boolean whether a use is inside the definition
local function is_within(location, place, extent, client)
  local line = breaks.range(client, place.buf, location.range).start.line
  return location.uri == vim.uri_from_bufnr(place.buf) and extent.first <= line and line <= extent.last
end

---@return string reason why nothing is deleted
local function still_used(task, place, uses)
  local lines, texts = {}, language_lines.new()
  for i = 1, math.min(#uses, MAX_LISTED) do
    local path, row = vim.uri_to_fname(uses[i].uri), uses[i].range.start.line
    lines[i] = locate.refusal(path) and "  a file that is outside of the workspace or private"
      or ("  %s:%d: %s"):format(locate.shown(path), row + 1, texts:text(path, row))
    task:breathe()
  end
  local head = ("nothing was deleted: `%s` is still used in %s:"):format(place.name, counted(#uses, "place"))
  local more = #uses > MAX_LISTED and ("\n  … and %d more"):format(#uses - MAX_LISTED) or ""
  return paging.cut(head .. "\n" .. table.concat(lines, "\n") .. more)
end

---Maximum number of places of a word to list.
local MAX_WORDS = 8

---Where else a name stands that no server knows a use of: an index may not have all of the project.
---@param clients vim.lsp.Client[]
---@param extent claude-ide.language.Extent
---@return string? doubt nil: nowhere else
local function doubt_of(task, place, clients, extent)
  local own = vim.api.nvim_buf_get_name(place.buf)
  local found, names = words.find(task, place.name), servers.names(clients)
  if not found then
    return ("%s knows no use of `%s`; the project was not searched for the word"):format(names, place.name)
  end
  local elsewhere = vim.tbl_filter(function(word)
    return word.path ~= own or word.lnum <= extent.first or word.lnum > extent.last + 1
  end, found)
  if #elsewhere == 0 then
    return nil
  end
  local folders = workspace.folders()
  local places = vim.tbl_map(function(word)
    return ("%s:%d"):format(locate.shown(word.path, folders), word.lnum)
  end, elsewhere)
  local where = listed(places, MAX_WORDS)
  return ("%s knows no use of `%s`, but the word stands in %s"):format(names, place.name, where)
end

---Deletes a definition that is not used; otherwise lists the uses.
M.safe_delete = tool(function(task, args)
  local method = "textDocument/references"
  local definition, place = outline.definition(task, args)
  local extent = extent_of(task, place, definition)
  if extent.fills then
    refuse(task, place, ("it is all that is in `%s`"):format(extent.fills))
  end
  local clients, why_not = servers.wait(task, place.buf, method, "find references")
  local uses = {}
  for _, client in ipairs(clients) do
    local context = { context = { includeDeclaration = false } }
    local params = vim.tbl_extend("error", symbol.params(task, place, client), context)
    local found, err = ready.steady(task, client, place.buf, function()
      return request.send(task, client, method, params, place.buf)
    end)
    why_not = why_not or err
    for _, location in ipairs(found or {}) do
      if not is_within(location, place, extent, client) then
        uses[#uses + 1] = location
      end
    end
  end
  if why_not then
    task:fail(("nothing was deleted: %s"):format(why_not))
  elseif #uses > 0 then
    task:fail(still_used(task, place, uses))
  end
  return propose_here(
    task,
    "Delete %s",
    place,
    deletion(place.buf, extent),
    "It is gone already; nothing was changed.",
    doubt_of(task, place, clients, extent)
  )
end)

return M
