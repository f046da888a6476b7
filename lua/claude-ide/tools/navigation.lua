-- Navigation by language servers: definitions, references, call and type hierarchies, documentation; symbols of a file and of the
-- project. LSP 3.17, "textDocument/definition" etc., "callHierarchy/*", "typeHierarchy/*".
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local language_hits = lazy("claude-ide.language.hits")
local language_symbol = lazy("claude-ide.language.symbol")
local locate = lazy("claude-ide.language.locate")
local lsp = lazy("claude-ide.base.lsp")
local outline = lazy("claude-ide.language.outline")
local paging = lazy("claude-ide.language.paging")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local ready = lazy("claude-ide.language.ready")
local request = lazy("claude-ide.language.request")
local servers = lazy("claude-ide.language.servers")

local M = {}

---A request about a symbol that returns locations.
---@class claude-ide.tools.Question
---@field method string
---@field doing string "find references"
---@field one string "reference"
---@field whole? boolean incomplete results are wrong: wait until the server knows the project
---@field context? fun(args: table): table additional parameters
---@field follow? string request for each item that `method` returns
---@field add? fun(hits: claude-ide.language.Hit[], found: any, client: vim.lsp.Client) for results of `follow`

---Asks every server; once more if nothing was found while one was loading the project. Fails the task if all servers failed.
---@param found any[] results that `ask` appends to
---@param ask fun(client: vim.lsp.Client): string? err
local function each(task, clients, found, ask)
  local errors = {}
  for round = 1, 2 do
    errors = {}
    for _, client in ipairs(clients) do
      errors[#errors + 1] = ask(client)
    end
    if #found > 0 or round == 2 or not servers.settle(task, clients) then
      break
    end
  end
  if #found == 0 and #errors > 0 then
    task:fail(table.concat(errors, "; "))
  end
end

---@param what claude-ide.tools.Question
---@return { text: string }
local function answer(task, args, what, place, names, hits, notes, none)
  local shown = locate.shown
  if #hits == 0 then
    local where = ("%s:%d"):format(shown(args.path), place.row + 1)
    return { text = table.concat(vim.list_extend({ none:format(names, place.name, where) }, notes), "\n") }
  end
  return language_hits.answer(task, hits, {
    head = function(count, files)
      local text = ("%s of `%s`"):format(counted(count, what.one), place.name)
      return files > 1 and not what.follow and ("%s in %d files:"):format(text, files) or text .. ":"
    end,
    cursor = args.cursor,
    notes = notes,
  })
end

---@param args { path: string, symbol: string, line?: integer, cursor?: string }
---@param what claude-ide.tools.Question
local function locations(task, args, what)
  local place = language_symbol.place(task, args)
  local clients = servers.need(task, place.buf, what.method, what.doing)
  local hits, notes = {}, { place.note }
  each(task, clients, hits, function(client)
    local context = what.context and what.context(args) or {}
    local params = vim.tbl_extend("error", language_symbol.params(task, place, client), context)
    local function ask()
      return request.send(task, client, what.method, params, place.buf)
    end
    local result, err, is_partial
    if what.whole then
      result, err, is_partial = ready.steady(task, client, place.buf, ask, true)
    else
      result, err = ask()
    end
    if is_partial then
      notes[#notes + 1] = ("(%s is still reading the project; there may be more.)"):format(client.name)
    end
    language_hits.add_locations(task, hits, result, client)
    return err
  end)
  local names = servers.names(clients)
  local none = ("%%s knows no %s of `%%s` at %%s."):format(what.one)
  return answer(task, args, what, place, names, hits, notes, none)
end

---Prepares an item of the server's at the place, then asks about it.
---@param args { path: string, symbol: string, line?: integer, cursor?: string }
---@param what claude-ide.tools.Question
local function hierarchy(task, args, what)
  local place = language_symbol.place(task, args)
  local clients = servers.need(task, place.buf, what.method, what.doing)
  ready.settle(task, clients, place.buf)
  local hits, has_items = {}, false
  each(task, clients, hits, function(client)
    local params = language_symbol.params(task, place, client)
    local items, err = request.send(task, client, what.method, params, place.buf)
    for _, item in ipairs(type(items) == "table" and items or {}) do
      local found, failed =
        request.send(task, client, what.follow --[[@as string]], { item = item }, place.buf)
      for _, one in ipairs(type(found) == "table" and found or {}) do
        local add = what.add --[[@as function]]
        add(hits, one, client)
      end
      err, has_items = err or failed, true
    end
    return err
  end)
  local none = has_items and "%s knows none of `%s` at %s." or "%s sees nothing at `%s` at %s that has any."
  return answer(task, args, what, place, servers.names(clients), hits, { place.note }, none)
end

---@return fun(hits: claude-ide.language.Hit[], item: any, client: vim.lsp.Client)
local function add_item(field)
  return function(hits, found, client)
    local item = field and found[field] or found
    local range = item.selectionRange or item.range
    hits[#hits + 1] = language_hits.hit(item.uri, range, client, item.name .. ":")
  end
end

---@type table<string, claude-ide.tools.Question>
local QUESTIONS = {
  definition = { method = "textDocument/definition", doing = "find definitions", one = "definition" },
  declaration = { method = "textDocument/declaration", doing = "find declarations", one = "declaration" },
  type = { method = "textDocument/typeDefinition", doing = "find type definitions", one = "type definition" },
  implementations = {
    method = "textDocument/implementation",
    doing = "find implementations",
    one = "implementation",
    whole = true,
  },
  references = {
    method = "textDocument/references",
    doing = "find references",
    one = "reference",
    whole = true,
    context = function(args)
      return { context = { includeDeclaration = args.include_declaration } }
    end,
  },
  incoming = {
    method = "textDocument/prepareCallHierarchy",
    follow = "callHierarchy/incomingCalls",
    doing = "tell who calls a function",
    one = "incoming call",
    add = function(hits, found, client)
      for _, range in ipairs(found.fromRanges or {}) do
        local label = ("in %s:"):format(found.from.name)
        hits[#hits + 1] = language_hits.hit(found.from.uri, range, client, label)
      end
    end,
  },
  outgoing = {
    method = "textDocument/prepareCallHierarchy",
    follow = "callHierarchy/outgoingCalls",
    doing = "tell what a function calls",
    one = "outgoing call",
    add = add_item("to"),
  },
  supertypes = {
    method = "textDocument/prepareTypeHierarchy",
    follow = "typeHierarchy/supertypes",
    doing = "tell what a type extends",
    one = "supertype",
    add = add_item(),
  },
  subtypes = {
    method = "textDocument/prepareTypeHierarchy",
    follow = "typeHierarchy/subtypes",
    doing = "tell what extends a type",
    one = "subtype",
    add = add_item(),
  },
}

---A tool for one of QUESTIONS.
---@param by? string argument that selects one; default: this one
local function question(default, by)
  return tool(function(task, args)
    local what = QUESTIONS[by and args[by] or default]
    return (what.follow and hierarchy or locations)(task, args, what)
  end)
end

M.definition = question("definition", "kind")
M.references = question("references")
M.implementations = question("implementations")
M.call_hierarchy = question("incoming", "direction")
M.type_hierarchy = question("subtypes", "direction")

---The content of a hover response as text.
---LSP 3.17, "Hover.contents": MarkupContent | MarkedString | MarkedString[].
local function text_of(contents)
  if type(contents) == "string" then
    return contents
  elseif type(contents) ~= "table" then
    return ""
  elseif type(contents.value) == "string" then
    local language = type(contents.language) == "string" and contents.language
    return language and ("```%s\n%s\n```"):format(language, contents.value) or contents.value
  end
  return table.concat(vim.tbl_map(text_of, contents), "\n\n")
end

---Whether a symbol is defined in a withheld file.
local function is_withheld(task, client, buf, params)
  local method, hits = "textDocument/definition", {} ---@type string, claude-ide.language.Hit[]
  if lsp.supports(client, method, buf) then
    local found = request.send(task, client, method, params, buf)
    language_hits.add_locations(task, hits, found, client)
  end
  return vim.iter(hits):any(function(hit)
    return privacy.withholds(hit.path)
  end)
end

---Documentation of a symbol.
M.hover = tool(function(task, args)
  local place, method = language_symbol.place(task, args), "textDocument/hover"
  local clients = servers.need(task, place.buf, method, "describe symbols")
  local texts = {}
  each(task, clients, texts, function(client)
    local params = language_symbol.params(task, place, client)
    local result, err = request.send(task, client, method, params, place.buf)
    local text = result and vim.trim(text_of(result.contents)) or ""
    if text ~= "" and is_withheld(task, client, place.buf, params) then
      task:fail(("the user keeps the file that defines `%s` private"):format(place.name))
    end
    texts[#texts + 1] = text ~= "" and text or nil
    return err
  end)
  local where = ("`%s` in %s:%d"):format(place.name, locate.shown(args.path), place.row + 1)
  if #texts == 0 then
    return { text = ("%s says nothing of %s."):format(servers.names(clients), where) }
  end
  local head = where .. (vim.bo[place.buf].modified and " (with unsaved changes)" or "") .. ":"
  local words = vim.list_extend({ head }, { place.note })
  words[#words + 1] = privacy.redact(table.concat(texts, "\n\n"))
  return { text = paging.cut(table.concat(words, "\n")) }
end)

---Maximum bytes of a symbol's detail.
local MAX_DETAIL = 60

local function outline_line(symbol)
  local lines = symbol.first == symbol.last and tostring(symbol.first)
    or ("%d-%d"):format(symbol.first, symbol.last)
  local detail = symbol.detail and " " .. position.truncate(symbol.detail, MAX_DETAIL) or ""
  local text = ("%s%s %s%s"):format(("  "):rep(symbol.depth), symbol.kind, symbol.name, detail)
  return position.valid(("%s  %s"):format(text:gsub("\n", " "), lines))
end

---The symbols of a file, as a tree.
M.outline = tool(function(task, args)
  local buf, shown = locate.buffer(task, args.path), locate.shown(args.path)
  local symbols, source = outline.of(task, buf)
  if not symbols then
    return task:fail(
      ("neither a language server nor a parser of the editor knows the language of %s"):format(shown)
    )
  elseif #symbols == 0 then
    return { text = ("%s has no symbols (%s)."):format(shown, source) }
  end
  local unsaved = vim.bo[buf].modified and ", with unsaved changes" or ""
  return paging.pages(task, {
    head = ("%s, %d lines (%s%s):"):format(shown, vim.api.nvim_buf_line_count(buf), source, unsaved),
    count = #symbols,
    entry = function(index)
      return { text = outline_line(symbols[index]) }
    end,
    cursor = args.cursor,
  })
end)

local SYMBOLS = "workspace/symbol"

---Servers to ask and a buffer of each, since the request has none: those of the given file, else all.
---@param path? string
---@return vim.lsp.Client[]
---@return table<integer, integer> buffers by client
local function symbol_servers(task, path)
  local stat = path and vim.uv.fs_stat(path)
  local clients, bufs = {}, {}
  if path and stat and stat.type == "file" then
    local buf = locate.buffer(task, path)
    clients = servers.need(task, buf, SYMBOLS, "search symbols of the project")
    for _, client in ipairs(clients) do
      bufs[client.id] = buf
    end
    return clients, bufs
  end
  for _, client in ipairs(lsp.all()) do
    for buf in vim.spairs(client.attached_buffers or {}) do
      local is_fit = vim.api.nvim_buf_is_loaded(buf) and lsp.supports(client, SYMBOLS, buf)
      if is_fit and not bufs[client.id] then
        clients[#clients + 1], bufs[client.id] = client, buf
      end
    end
  end
  if #clients == 0 then
    task:fail(
      "no language server runs that can search symbols; name a file of the project in `path` to start its own"
    )
  end
  return clients, bufs
end

---Searches symbols of the project by name.
M.symbols = tool(function(task, args)
  local below = args.path and paths.normalize(args.path) --[[@as string?]]
  if below and not locate.is_inside(below) then
    task:fail(below .. " is outside of the workspace")
  end
  local clients, bufs = symbol_servers(task, below)
  local all = {}
  each(task, clients, all, function(client)
    local result, err = request.send(task, client, SYMBOLS, { query = args.query }, bufs[client.id])
    for _, symbol in ipairs(type(result) == "table" and result or {}) do
      local location, kind = symbol.location, outline.kind(symbol.kind)
      if location and location.uri and (not args.kind or kind == args.kind) then
        local range = location.range or { start = { line = 0, character = 0 } }
        local container = type(symbol.containerName) == "string" and symbol.containerName ~= ""
        local name = container and symbol.containerName .. "." .. symbol.name or symbol.name
        local hit = language_hits.hit(location.uri, range, client, ("%s %s"):format(kind, name))
        hit.rank = symbol.name == args.query and 0 or 1
        all[#all + 1] = (not below or paths.within(hit.path, below)) and hit or nil
      end
      task:breathe()
    end
    return err
  end)
  if #all == 0 then
    local names = servers.names(clients)
    return { text = ("%s knows no symbol like `%s` here."):format(names, args.query) }
  end
  -- Exact matches first, then the rest in order.
  local exact, rest = {}, {}
  for _, hit in ipairs(language_hits.sorted(task, all)) do
    table.insert(hit.rank == 0 and exact or rest, hit)
  end
  return language_hits.answer(task, vim.list_extend(exact, rest), {
    head = function(count, files)
      return ("%s like `%s` in %s:"):format(counted(count, "symbol"), args.query, counted(files, "file"))
    end,
    cursor = args.cursor,
    ordered = true,
  })
end)

return M
