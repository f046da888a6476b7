-- Highlight groups of a transcript, and treesitter highlighting of its texts.
-- Texts are parsed in pieces of a few lines each: an open fence in one message does not affect others, distant text costs nothing,
-- and no piece takes longer than a frame.

local queries = require("claude-ide.transcript.queries")
local lazy = require("claude-ide.lazy")
local colours = lazy("claude-ide.ui.diffview.colours")
local highlights = lazy("claude-ide.ui.highlights")

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
  ClaudeTranscriptAdded = "ClaudeDiffAddedLine",
  ClaudeTranscriptRemoved = "ClaudeDiffRemovedLine",
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
  ClaudeTranscriptCodeBlock = "CursorLine",
  ClaudeTranscriptTable = "NonText",
  ClaudeTranscriptFold = "Normal",
  ClaudeTranscriptTitle = "Title",
  ClaudeTranscriptFact = "Comment",
  ClaudeTranscriptKey = "Special",
  ClaudeTranscriptWorking = "DiagnosticInfo",
  ClaudeTranscriptWaiting = "DiagnosticWarn",
}

---On the background of a code block a fence is its language alone, which is to be read.
local IN_CODE_BLOCKS = { ClaudeTranscriptFence = LINKS.ClaudeTranscriptFence }

---Defines highlight groups that the user and the colour scheme have not defined.
function M.define()
  colours.define()
  highlights.link(LINKS)
  colours.keep_readable("ClaudeTranscriptCodeBlock", IN_CODE_BLOCKS)
end

---@type table<string, string|false> languages with a parser, by fence name
local languages = {}

---@param name string
---@return string? language
local function parser_for(name)
  if languages[name] == nil then
    local language = name ~= "" and (vim.treesitter.language.get_lang(name) or name) or ""
    local ok, added = pcall(vim.treesitter.language.add, language)
    -- 0.10 returns nothing on success.
    local there = language ~= "" and ok and added ~= false and (added == true or vim.fn.has("nvim-0.11") == 0)
    languages[name] = there and language or false
  end
  return languages[name] or nil
end

---@param name string of a fence
---@return boolean
function M.has_parser(name)
  return parser_for(name) ~= nil
end

---Loading steps per fence name: each takes Neovim some milliseconds, once.
---@type table<string, (fun(): boolean)[]> a step returns true to be called again
local loading = {}

---@param name string
---@return (fun(): boolean)[]
local function steps_for(name)
  local steps = {}
  for _, each in ipairs(name == "markdown" and { "markdown", "markdown_inline" } or { name }) do
    local language = parser_for(each)
    if language then
      steps[#steps + 1] = function()
        return queries.load(language)
      end
      steps[#steps + 1] = function()
        pcall(vim.treesitter.query.get, language, "injections")
        return false
      end
    end
  end
  return steps
end

---Runs one loading step of a language.
---@param name string fence name
---@return boolean more false: all is loaded
function M.load(name)
  if not loading[name] then
    loading[name] = steps_for(name)
    return true
  end
  local step = loading[name][1]
  if step and not step() then
    table.remove(loading[name], 1)
  end
  return step ~= nil
end

---@class claude-ide.transcript.Span
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer
---@field group string
---@field hidden? boolean

---@param spans claude-ide.transcript.Span[]
---@param query vim.treesitter.Query
---@param tree TSTree
---@param language string
---@param source string
local function add_captures(spans, query, tree, language, source)
  local markup = language == "markdown_inline" and require("claude-ide.transcript.markup") or nil
  for id, node, metadata in query:iter_captures(tree:root(), source) do
    local name = query.captures[id]
    local own = metadata[id] or {}
    local is_hidden = markup and (own.conceal or metadata.conceal) == "" and markup.may_hide(node, source)
    local is_group = name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" and name ~= "conceal"
    local row, col, end_row, end_col = node:range()
    local is_empty = row == end_row and col == end_col -- a MISSING node
    if not is_empty and (is_hidden or (is_group and (not markup or markup.is_meant(node, source)))) then
      spans[#spans + 1] = {
        row = row,
        col = col,
        end_row = end_row,
        end_col = end_col,
        group = is_group and ("@%s.%s"):format(name, language) or "",
        hidden = is_hidden and row == end_row or nil,
      }
    end
  end
end

---The capture order of the whole query: by start, outer nodes first, then by pattern. At one place the later capture wins.
---@param one claude-ide.transcript.Span
---@param other claude-ide.transcript.Span
---@param is_of_earlier boolean whether its pattern comes first
---@return boolean
local function precedes(one, other, is_of_earlier)
  if one.row ~= other.row then
    return one.row < other.row
  elseif one.col ~= other.col then
    return one.col < other.col
  elseif one.end_row ~= other.end_row then
    return one.end_row > other.end_row
  elseif one.end_col ~= other.end_col then
    return one.end_col > other.end_col
  end
  return is_of_earlier
end

---@param spans claude-ide.transcript.Span[]
---@param tree TSTree
---@param language string
---@param source string
local function add_tree(spans, tree, language, source)
  local own, order, parts = {}, {}, queries.of(language)
  for _, query in ipairs(parts) do
    add_captures(own, query, tree, language, source)
  end
  for at, span in ipairs(#parts > 1 and own or {}) do
    order[span] = at
  end
  if #parts > 1 then
    table.sort(own, function(one, other)
      return precedes(one, other, order[one] < order[other])
    end)
  end
  vim.list_extend(spans, own)
end

---Spans of Markdown when its parser is missing.
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

---Time for the collector: share of the work's time, and maximum.
local SHARE, MOST_NS = 0.5, 2e6

---Runs a function with the garbage collector stopped, then lets it collect for a bounded time. Parsers and syntax trees are costly to
---free: left alone, the collector frees hundreds at once (20 to 30 ms measured while an answer was drawn, 4 ms of it the work). No slice
---(base/slice.lua): its time goes by the work's, and nothing goes on later.
---@param fn fun()
---@return boolean ok
---@return any err
function M.paced(fn)
  local began = vim.uv.hrtime()
  collectgarbage("stop")
  local ok, err = pcall(fn)
  local now = vim.uv.hrtime()
  local stop = now + math.min((now - began) * SHARE, MOST_NS)
  -- The first step also restarts it.
  repeat
    local is_over = collectgarbage("step")
  until is_over or vim.uv.hrtime() > stop
  return ok, err
end

---Highlight spans of a piece.
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
  local ok = M.paced(function()
    local parser = vim.treesitter.get_string_parser(source, language)
    parser:parse(language == "markdown" or nil)
    parser:for_each_tree(function(tree, of)
      add_tree(spans, tree, of:lang(), source)
    end)
  end)
  return ok and spans or {}
end

return M
