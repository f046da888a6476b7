-- Colours: the highlight groups, and texts of a language coloured by its treesitter parser.
-- Each text is parsed by itself, in pieces of a few lines: an open fence in one message colours no other, what is far costs
-- nothing, and no piece takes longer than a frame.

local M = {}

local LINKS = {
  ClaudeTranscriptYou = "Title",
  ClaudeTranscriptYouLine = "CursorLine",
  ClaudeTranscriptClaude = "Statement",
  ClaudeTranscriptBranch = "Special",
  ClaudeTranscriptRule = "Comment",
  ClaudeTranscriptDim = "Comment",
  ClaudeTranscriptTime = "Comment",
  ClaudeTranscriptTool = "Function",
  ClaudeTranscriptArgument = "Normal",
  ClaudeTranscriptAddedCount = "Added",
  ClaudeTranscriptRemovedCount = "Removed",
  ClaudeTranscriptOk = "DiagnosticOk",
  ClaudeTranscriptFailed = "DiagnosticError",
  ClaudeTranscriptRejected = "DiagnosticWarn",
  ClaudeTranscriptRunning = "DiagnosticInfo",
  ClaudeTranscriptAdded = "DiffAdd",
  ClaudeTranscriptRemoved = "DiffDelete",
  ClaudeTranscriptHunk = "Comment",
  ClaudeTranscriptInput = "Normal",
  ClaudeTranscriptResult = "Normal",
  ClaudeTranscriptError = "DiagnosticError",
  ClaudeTranscriptImage = "Special",
  ClaudeTranscriptAgent = "Identifier",
  ClaudeTranscriptThinking = "Comment",
  ClaudeTranscriptPreview = "Comment",
  ClaudeTranscriptCommand = "Special",
  ClaudeTranscriptNotice = "WarningMsg",
  ClaudeTranscriptCode = "@markup.raw.block",
  ClaudeTranscriptFence = "NonText",
  ClaudeTranscriptFold = "Normal",
  ClaudeTranscriptTitle = "Title",
  ClaudeTranscriptFact = "Comment",
  ClaudeTranscriptKey = "Special",
  ClaudeTranscriptWorking = "DiagnosticInfo",
  ClaudeTranscriptWaiting = "DiagnosticWarn",
}

---Defines the highlight groups where the person or the colour scheme has not.
function M.define()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

---Bytes parsed at once: some milliseconds.
local PIECE = 1500
---From this size on a text stays plain.
local MAX_TEXT = 64 * 1024

---@class claude-ide.transcript.Piece
---@field row integer its first, within the text
---@field lines string[]
---@field language string
---@field fence? boolean the line that begins or ends code

---@param pieces claude-ide.transcript.Piece[]
---@param row integer
---@param lines string[]
---@param language string
---@param at_gap boolean end pieces at empty lines
local function add_pieces(pieces, row, lines, language, at_gap)
  local piece, bytes = nil, 0
  for at, line in ipairs(lines) do
    if not piece or (bytes > PIECE and (not at_gap or line == "" or bytes > 4 * PIECE)) then
      piece, bytes = { row = row + at - 1, lines = {}, language = language }, 0
      pieces[#pieces + 1] = piece
    end
    piece.lines[#piece.lines + 1] = line
    bytes = bytes + #line + 1
  end
end

---Parts a text into pieces: code in fences by itself. Pure.
---@param lines string[]
---@param language string
---@return claude-ide.transcript.Piece[]
function M.pieces(lines, language)
  local pieces, bytes = {}, 0
  for _, line in ipairs(lines) do
    bytes = bytes + #line + 1
  end
  if bytes > MAX_TEXT then
    return pieces
  elseif language ~= "markdown" then
    add_pieces(pieces, 0, lines, language, false)
    return pieces
  end
  local fence, fence_language, from = nil, "", 1
  for at, line in ipairs(lines) do
    local ticks, info = line:match("^%s*(```+)%s*([^`]*)$")
    if not ticks then
      ticks, info = line:match("^%s*(~~~+)%s*(.*)$")
    end
    if not fence and ticks then
      add_pieces(pieces, from - 1, vim.list_slice(lines, from, at - 1), "markdown", true)
      pieces[#pieces + 1] = { row = at - 1, lines = { line }, language = "", fence = true }
      fence, fence_language, from = ticks, ((info or ""):match("^[%w_+#-]+") or ""):lower(), at + 1
    elseif fence and ticks and info == "" and #ticks >= #fence and ticks:sub(1, 1) == fence:sub(1, 1) then
      add_pieces(pieces, from - 1, vim.list_slice(lines, from, at - 1), fence_language, false)
      pieces[#pieces + 1] = { row = at - 1, lines = { line }, language = "", fence = true }
      fence, from = nil, at + 1
    end
  end
  add_pieces(pieces, from - 1, vim.list_slice(lines, from), fence and fence_language or "markdown", not fence)
  return pieces
end

---@type table<string, string|false> names of fences to languages that there is a parser for
local languages = {}

---@param name string
---@return string? language
local function parser_for(name)
  if languages[name] == nil then
    local language = name ~= "" and (vim.treesitter.language.get_lang(name) or name) or ""
    local ok, added = pcall(vim.treesitter.language.add, language)
    -- 0.10 says nothing where it went well.
    local there = language ~= "" and ok and added ~= false and (added == true or vim.fn.has("nvim-0.11") == 0)
    languages[name] = there and language or false
  end
  return languages[name] or nil
end

---@type table<string, vim.treesitter.Query|false>
local queries = {}

---Neovim 0.10 takes a millisecond to give back a query that it has.
---@param language string
---@return vim.treesitter.Query?
local function query_of(language)
  if queries[language] == nil then
    local ok, query = pcall(vim.treesitter.query.get, language, "highlights")
    queries[language] = ok and query or false
  end
  return queries[language] or nil
end

---What is left to be loaded of a language, by the name of its fence: each takes Neovim some milliseconds, once.
---@type table<string, (fun())[]>
local loading = {}

---@param name string
---@return (fun())[]
local function steps_for(name)
  local steps = {}
  for _, each in ipairs(name == "markdown" and { "markdown", "markdown_inline" } or { name }) do
    local function load(fn)
      steps[#steps + 1] = function()
        local language = parser_for(each)
        if language then
          fn(language)
        end
      end
    end
    load(query_of)
    load(function(language)
      pcall(vim.treesitter.query.get, language, "injections")
    end)
  end
  return steps
end

---Loads a part of what a language needs.
---@param name string of its fence
---@return boolean more there was something to load: look at the time
function M.load(name)
  loading[name] = loading[name] or steps_for(name)
  local step = table.remove(loading[name], 1)
  if step then
    step()
  end
  return step ~= nil
end

---@class claude-ide.transcript.Span
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer
---@field group string
---@field conceal? string

---@param spans claude-ide.transcript.Span[]
---@param tree TSTree
---@param language string
---@param source string
local function add_tree(spans, tree, language, source)
  local query = query_of(language)
  if not query then
    return
  end
  for id, node, metadata in query:iter_captures(tree:root(), source) do
    local name = query.captures[id]
    local own = metadata[id] or {}
    local conceal = own.conceal or metadata.conceal
    local is_group = name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" and name ~= "conceal"
    if is_group or conceal then
      local row, col, end_row, end_col = node:range()
      spans[#spans + 1] = {
        row = row,
        col = col,
        end_row = end_row,
        end_col = end_col,
        group = is_group and ("@%s.%s"):format(name, language) or "",
        conceal = type(conceal) == "string" and row == end_row and conceal or nil,
      }
    end
  end
end

---What stands out where there is no parser for Markdown.
---@param lines string[]
---@return claude-ide.transcript.Span[]
local function plain_markdown(lines)
  local spans = {}
  local function add(row, col, end_col, group)
    spans[#spans + 1] = { row = row, col = col, end_row = row, end_col = end_col, group = group }
  end
  for at, line in ipairs(lines) do
    if line:find("^#+ ") then
      add(at - 1, 0, #line, "Title")
    else
      for from, to in line:gmatch("()`[^`]+`()") do
        add(at - 1, from - 1, to - 1, "String")
      end
      for from, to in line:gmatch("()%*%*[^*]+%*%*()") do
        add(at - 1, from - 1, to - 1, "Bold")
      end
      local mark = line:match("^%s*[-*+] ") or line:match("^%s*%d+[.)] ") or line:match("^>+ ?")
      if mark then
        add(at - 1, 0, #mark - 1, "Special")
      end
    end
  end
  return spans
end

---The colours of a piece.
---@param piece claude-ide.transcript.Piece
---@return claude-ide.transcript.Span[]
function M.spans(piece)
  local function all(group)
    local last = #piece.lines
    return {
      { row = 0, col = 0, end_row = last - 1, end_col = #piece.lines[last], group = group },
    }
  end
  if piece.fence then
    return all("ClaudeTranscriptFence")
  end
  local language = parser_for(piece.language)
  if not language then
    return piece.language == "markdown" and plain_markdown(piece.lines) or all("ClaudeTranscriptCode")
  end
  local source = table.concat(piece.lines, "\n") .. "\n"
  local spans = {}
  local ok = pcall(function()
    local parser = vim.treesitter.get_string_parser(source, language)
    parser:parse(language == "markdown" or nil)
    parser:for_each_tree(function(tree, of)
      add_tree(spans, tree, of:lang(), source)
    end)
  end)
  return ok and spans or {}
end

return M
