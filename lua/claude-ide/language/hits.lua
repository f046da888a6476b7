-- Locations reported by language servers, formatted for a model: by file, in order, with their lines of text.
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local encoding = lazy("claude-ide.language.encoding")
local ide_path = lazy("claude-ide.base.path")
local language_lines = lazy("claude-ide.language.lines")
local locate = lazy("claude-ide.language.locate")
local paging = lazy("claude-ide.language.paging")

local M = {}

---@class claude-ide.language.Hit
---@field path string absolute; a URI if it is no file
---@field row integer 0-based
---@field character integer 0-based, in the server's units
---@field encoding string
---@field breaks? claude-ide.LineBreaks of the server
---@field label? string before the line's text
---@field rank? integer for the caller

---@param uri string
---@return string
local function path_of(uri)
  if uri:sub(1, 5) ~= "file:" then
    return uri
  end
  local ok, path = pcall(vim.uri_to_fname, uri)
  return ok and ide_path.normalize(path) or uri
end

---Cache of the last URI and its path: servers report file by file.
local last_uri, last_path = "", ""

---@param uri string
---@param range lsp.Range
---@param client vim.lsp.Client
---@param label? string
---@return claude-ide.language.Hit
function M.hit(uri, range, client, label)
  if uri ~= last_uri then
    last_uri, last_path = uri, path_of(uri)
  end
  return {
    path = last_path,
    row = range.start.line,
    character = range.start.character,
    encoding = client.offset_encoding or "utf-16",
    breaks = breaks.known(client.id),
    label = label,
  }
end

---Adds the result of `textDocument/definition` and similar requests.
---LSP 3.17: Location | Location[] | LocationLink[].
---@param task claude-ide.language.Task
---@param hits claude-ide.language.Hit[] appended to
---@param result any
---@param client vim.lsp.Client
function M.add_locations(task, hits, result, client)
  if type(result) ~= "table" then
    return
  end
  local list = (result.uri or result.targetUri) and { result } or result
  for _, location in ipairs(list) do
    local uri = location.uri or location.targetUri
    local range = location.range or location.targetSelectionRange or location.targetRange
    if type(uri) == "string" and type(range) == "table" then
      hits[#hits + 1] = M.hit(uri, range, client)
    end
    task:breathe()
  end
end

---@param left claude-ide.language.Hit
---@param right claude-ide.language.Hit
local function precedes(left, right)
  if left.row ~= right.row then
    return left.row < right.row
  end
  return left.character < right.character
end

---Sorted and without duplicates. File by file: sorting all at once takes too long.
---@param task claude-ide.language.Task
---@param hits claude-ide.language.Hit[]
---@return claude-ide.language.Hit[]
function M.sorted(task, hits)
  local by_path, paths = {}, {} ---@type table<string, claude-ide.language.Hit[]>, string[]
  for _, hit in ipairs(hits) do
    local list = by_path[hit.path]
    if not list then
      list = {}
      by_path[hit.path], paths[#paths + 1] = list, hit.path
    end
    list[#list + 1] = hit
    task:breathe()
  end
  table.sort(paths)
  local unique = {}
  for _, path in ipairs(paths) do
    local list, last = by_path[path], nil ---@type claude-ide.language.Hit[], claude-ide.language.Hit?
    table.sort(list, precedes)
    for _, hit in ipairs(list) do
      if not last or hit.row ~= last.row or hit.character ~= last.character then
        unique[#unique + 1] = hit
        last = hit
      end
    end
    task:breathe()
  end
  return unique
end

---With more hits than this each line is listed once, without its column, and identical texts are quoted once.
local MANY = 30

---Formats a hit: file as heading, place, line.
---@param said? table<string, true> texts already quoted, if there are many hits
---@return claude-ide.language.Entry? entry nil: its line was listed
local function entry(hit, lines, said)
  local label = hit.label and hit.label .. "  " or ""
  if not hit.path:find("^/") then
    return { group = hit.path, text = ("  %d:%d  %s"):format(hit.row + 1, hit.character + 1, label) }
  end
  local shown = locate.shown(hit.path, lines.folders)
  local withheld = lines:withheld(hit.path)
  if withheld == "private" then
    return { group = "(files that the user keeps private)", text = "  " .. label .. "a place in one of them" }
  elseif withheld then
    return { group = shown, text = ("  %d:%d  %s"):format(hit.row + 1, hit.character + 1, label) }
  end
  local row, piece = lines:of_server(hit.path, hit.row, hit.breaks or "lf")
  local group = shown .. (lines:is_unsaved(hit.path) and " (with unsaved changes)" or "")
  local text = lines:text(hit.path, row)
  if said then
    local place, quoted = ("%s:%d"):format(hit.path, row), said[label .. text]
    if said[place] then
      return nil
    end
    said[place], said[label .. text] = true, true
    return { group = group, text = ("  %d%s"):format(row + 1, quoted and "" or (" %s%s"):format(label, text)) }
  end
  local col = piece.at + encoding.byte(piece.text, hit.character, hit.encoding)
  return { group = group, text = ("  %d:%d  %s%s"):format(row + 1, col + 1, label, text) }
end

---@class claude-ide.language.HitsOpts
---@field head fun(count: integer, files: integer): string
---@field cursor? string
---@field notes? string[]
---@field ordered? boolean keep the given order

---The answer with these locations.
---@param task claude-ide.language.Task
---@param found claude-ide.language.Hit[]
---@param opts claude-ide.language.HitsOpts
---@return { text: string }
function M.answer(task, found, opts)
  local hits = opts.ordered and found or M.sorted(task, found)
  local lines = language_lines.new()
  local files, count = {}, 0
  for _, hit in ipairs(hits) do
    count = count + (files[hit.path] and 0 or 1)
    files[hit.path] = true
    task:breathe()
  end
  local said = #hits > MANY and {} or nil ---@type table<string, true>?
  local notes = vim.list_extend({}, opts.notes or {})
  notes[#notes + 1] = said and "(lines that say the same are quoted once)"
  return paging.pages(task, {
    head = opts.head(#hits, count),
    count = #hits,
    entry = function(index)
      return entry(hits[index], lines, said)
    end,
    cursor = opts.cursor,
    notes = notes,
  })
end

return M
