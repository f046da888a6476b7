-- Requests rendered messages. The library renders them (`crates/session/src/render`), those of files on its own threads; this module
-- collects the editor's part of the request.
-- Rows of an item are 0-based.

---@class claude-ide.transcript.Mark
---@field row integer
---@field col integer byte
---@field end_col? integer byte; nil: to the end of the line
---@field group string
---@field eol? boolean highlight to the window's edge
---@field behind? claude-ide.transcript.Chunk[] virtual text at the end of the line, instead of a highlight

---A text and its highlight group, for virtual text and 'foldtext'.
---@class claude-ide.transcript.Chunk
---@field [1] string
---@field [2] string

---@class claude-ide.transcript.Fold
---@field key string unique in its item
---@field first integer
---@field last integer
---@field closed boolean initially
---@field left claude-ide.transcript.Chunk[] text of the closed fold; the second chunk is shortened in narrow windows
---@field right claude-ide.transcript.Chunk[] right-aligned

---A text to highlight when idle.
---@class claude-ide.transcript.Prose
---@field row integer
---@field count integer lines
---@field indent integer bytes before each line
---@field language string "markdown", "prompt" (see `pieces`), or a code language
---@field fence? claude-ide.transcript.Fence code block that it starts in, if it continues another row
---@field painted? integer number of highlighted pieces
---@field is_done? boolean all are
---@field has_table? boolean display depends on the windows' width
---@field pieces? claude-ide.transcript.Pieces kept if the text may grow
---@field mark? claude-ide.transcript.PiecesMark before the line where it may

---Target of Enter and `gf` on a range of lines. The first one that contains a line applies.
---@class claude-ide.transcript.Target
---@field type "edit"|"file"|"agent"|"more"|"branch"
---@field first integer
---@field last integer
---@field tool_id? string edit, agent
---@field path? string file
---@field lnum? integer file
---@field source? string more: key of the source with the full text
---@field message? integer more
---@field block? integer more: index of the message's block, from 1
---@field argument? string more: name of the call's argument; nil: its result
---@field call? boolean agent: on the line of the call
---@field sidechain? integer agent: its first message, if it is in the same file

---Where a text may grow.
---@class claude-ide.transcript.OpenEnd
---@field first integer lines before the last non-blank one
---@field tail string text from there on
---@field bytes integer of the whole text

---@class claude-ide.transcript.Item
---@field key string identifies it when its message is rendered again
---@field kind "gap"|"heading"|"text"|"thinking"|"tool"|"note"
---@field edit? boolean
---@field code? string command of a call
---@field lines string[]
---@field marks claude-ide.transcript.Mark[]
---@field folds claude-ide.transcript.Fold[] inner ones first
---@field prose claude-ide.transcript.Prose[]
---@field targets claude-ide.transcript.Target[]
---@field open_end? claude-ide.transcript.OpenEnd

local M = {}

---Whether a row is for the model only.
---@param row claude-ide.sessions.Row
---@return boolean
function M.is_hidden(row)
  return row.kind == "meta"
end

---Whether the session has ended; a call without a result runs only in a running session.
---@param view claude-ide.transcript.View
---@return boolean
function M.is_ended(view)
  if view.source.runs then
    return not view.source:runs()
  end
  return require("claude-ide.sessions.catalogue").running(view.session) == nil
end

---Whether a message is the user's, as a target of `]]`.
---@param kind claude-ide.sessions.RowKind
---@return boolean
function M.is_prompt(kind)
  return kind == "prompt" or kind == "command"
end

---Size limit of an argument's text in a request; sizes of a new file are counted up to it.
local MOST_TEXT = 512 * 1024

---The arguments of a call with long texts cut.
---@param value any
---@param path string
---@param sizes table<string, integer> full sizes of cut texts, by path
---@return any value unchanged if nothing was cut
local function bounded(value, path, sizes)
  if type(value) == "string" and #value > MOST_TEXT then
    sizes[path] = #value
    return value:sub(1, MOST_TEXT + vim.str_utf_start(value, MOST_TEXT + 1))
  elseif type(value) ~= "table" then
    return value
  end
  local copy ---@type table?
  for name, inner in pairs(value) do
    local cut = bounded(inner, ("%s/%s"):format(path, name), sizes)
    if cut ~= inner then
      copy = copy or vim.tbl_extend("force", {}, value)
      copy[name] = cut
    end
  end
  return copy or value
end

---@param message claude-ide.sessions.Message
---@return claude-ide.sessions.Block[]
---@return table<string, integer>? sizes of cut texts
local function blocks_of(message)
  local blocks, sizes = {}, {}
  for at, block in ipairs(message.blocks) do
    local input = block.input and bounded(block.input, tostring(at), sizes)
    blocks[at] = input == block.input and block or vim.tbl_extend("force", block, { input = input })
  end
  return blocks, next(sizes) and sizes
end

---@class claude-ide.transcript.Said a message as the library renders it
---@field id integer
---@field kind claude-ide.sessions.RowKind
---@field start? integer
---@field previous? { kind: claude-ide.sessions.RowKind, called: boolean }
---@field branch? { number: integer, count: integer }
---@field continues? boolean
---@field blocks? claude-ide.sessions.Block[]
---@field sizes? table<string, integer>
---@field fence? claude-ide.transcript.Fence

---@class claude-ide.transcript.DrawRequest
---@field rows integer[]
---@field agents? table<string, table> subagents by tool call

---@class claude-ide.transcript.Drawn a rendered row
---@field row claude-ide.sessions.Row
---@field items claude-ide.transcript.Item[]

---@class claude-ide.transcript.InMemory a message to render
---@field row claude-ide.sessions.Row
---@field before? claude-ide.sessions.Row the previous visible one
---@field message claude-ide.sessions.Message

---@param row claude-ide.sessions.Row
---@param before? claude-ide.sessions.Row the previous visible one
---@return claude-ide.transcript.Said
local function said(row, before)
  return {
    id = row.id,
    kind = row.kind,
    start = row.start,
    previous = before and { kind = before.kind, called = #(before.tools or {}) > 0 },
    branch = row.branch and { number = row.branch.number, count = #row.branch.siblings },
    continues = row.continues,
  }
end

---@param one claude-ide.transcript.Said
---@param message claude-ide.sessions.Message
local function fill(one, message)
  local continues = one.continues and message.blocks[1] and message.blocks[1].continues
  one.fence = continues and continues.fence
  one.blocks, one.sizes = blocks_of(message)
end

---The subagent that a call started, if a source knows it.
---@param view claude-ide.transcript.View
---@param tool_id string
---@return claude-ide.sessions.Agent?
function M.agent_of(view, tool_id)
  local sources = { view.source }
  for _, agent in pairs(view.agents) do
    sources[#sources + 1] = agent.source -- knows nested subagents
  end
  for _, source in ipairs(sources) do
    local agent = source.agent_of and source:agent_of(tool_id)
    if agent then
      return agent
    end
  end
  return nil
end

---@param agent? claude-ide.sessions.Agent
---@param sidechain? integer
local function closed(agent, sidechain)
  return {
    agent = agent and { agent_type = agent.agent_type, running = agent.running },
    sidechain = sidechain,
  }
end

---@param view claude-ide.transcript.View
---@param agents table<string, table> gets the subagents started by the message
---@param message claude-ide.sessions.Message
---@param row claude-ide.sessions.Row
local function add_nested(view, agents, message, row)
  local call = 0
  for _, block in ipairs(message.blocks) do
    local tool_id = block.type == "tool_use" and block.id
    if tool_id then
      call = call + 1
      local agent, tool = M.agent_of(view, tool_id), row.tools and row.tools[call]
      local sidechain = tool and tool.sidechain
      if (agent or sidechain) and not agents[tool_id] then
        agents[tool_id] = closed(agent, sidechain)
      end
    end
  end
end

---Open subagents and those that they started, by call.
---@param view claude-ide.transcript.View
---@return table<string, table>? nil: none
local function agents_of(view)
  local agents = {}
  for tool_id, agent in pairs(view.agents) do
    if agent.open then
      local source, rows, before = agent.source or view.source, {}, nil
      for at, message in ipairs(agent.messages) do
        rows[at] = said(agent.rows[at], before)
        fill(rows[at], message)
        before = M.is_hidden(agent.rows[at]) and before or agent.rows[at]
      end
      agent.agent = M.agent_of(view, tool_id) or agent.agent
      agents[tool_id] = vim.tbl_extend("error", closed(agent.agent, agent.sidechain), {
        open = true,
        loading = agent.loading,
        err = agent.err,
        left_out = agent.left_out,
        source = source.key,
        max_lines = source.max_lines,
        rows = rows,
      })
    end
  end
  for _, agent in pairs(view.agents) do
    for at, message in ipairs(agent.open and agent.messages or {}) do
      add_nested(view, agents, message, agent.rows[at])
    end
  end
  return next(agents) and agents or nil
end

---The request to render rows.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@return claude-ide.transcript.DrawRequest
function M.request(view, rows)
  local source = view.source
  return {
    rows = rows,
    cwd = view.cwd,
    home = vim.env.HOME,
    source = source.key,
    max_lines = source.max_lines,
    speaker = source.speaker,
    of_agent = source.is_agent,
    ended = M.is_ended(view),
    waits = require("claude-ide.sessions.waits").of(view.session),
    agents = agents_of(view),
  }
end

---Keeps the full command for yanks.
---@param items claude-ide.transcript.Item[]
---@param block claude-ide.sessions.Block
local function keep_code(items, block)
  for _, item in ipairs(items) do
    if item.code and item.key == "tool:" .. (block.id or "") then
      item.code = block.input.command
    end
  end
end

---@return claude-ide.transcript.Item
local function broken()
  local line = "  This message cannot be shown (:Claude log tells why)"
  local mark = { row = 0, col = 2, group = "ClaudeTranscriptNotice" }
  return {
    key = "broken",
    kind = "note",
    lines = { line },
    marks = { mark },
    folds = {},
    prose = {},
    targets = {},
  }
end

---Renders messages in memory, those of a chat.
---@param source claude-ide.transcript.Source
---@param request claude-ide.transcript.DrawRequest
---@param list claude-ide.transcript.InMemory[]
---@return claude-ide.transcript.Drawn[]
function M.draw(source, request, list)
  local agents, messages = vim.tbl_extend("force", {}, request.agents or {}), {} ---@type table, claude-ide.transcript.Said[]
  for at, one in ipairs(list) do
    messages[at] = said(one.row, one.before)
    fill(messages[at], one.message)
    for _, block in ipairs(one.message.blocks) do
      local tool_id = source.agent_of and block.type == "tool_use" and block.id
      local agent = tool_id and not agents[tool_id] and source:agent_of(tool_id)
      if tool_id and agent then
        agents[tool_id] = closed(agent)
      end
    end
  end
  local whole = vim.tbl_extend("force", request, { messages = messages }) --[[@as table]]
  whole.rows, whole.agents = nil, next(agents) and agents or nil
  local ok, json = pcall(vim.json.encode, whole)
  local drawn, err
  if ok then
    drawn, err = require("claude-ide.native").render_messages(json)
  end
  if not drawn then
    require("claude-ide.log").error("messages cannot be shown: %s", err or json)
  end
  local rows = {}
  for at, one in ipairs(list) do
    rows[at] = { row = one.row, items = drawn and drawn[at] or { broken() } }
    for _, block in ipairs(messages[at].sizes and one.message.blocks or {}) do
      keep_code(rows[at].items, block)
    end
  end
  return rows
end

return M
