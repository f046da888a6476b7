-- What the editor knows for drawing rows, which the library does (`crates/session/src/render`), those of files on its own threads.
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
---@field code? string command of a call; nil: a target leads to all of it
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

---@class claude-ide.transcript.Said a message as the library renders it
---@field id integer
---@field kind claude-ide.sessions.RowKind
---@field start? integer
---@field previous? { kind: claude-ide.sessions.RowKind, called: boolean }
---@field branch? { number: integer, count: integer }
---@field blocks? claude-ide.sessions.Block[]

---@class claude-ide.transcript.DrawRequest
---@field rows integer[]
---@field agents? table<string, table> subagents by tool call

---@class claude-ide.transcript.Drawn a rendered row
---@field at integer its number
---@field row claude-ide.sessions.Row
---@field items claude-ide.transcript.Item[]

---@param row claude-ide.sessions.Row
---@param before? claude-ide.sessions.Row the previous visible one
---@param message claude-ide.sessions.Message
---@return claude-ide.transcript.Said
local function said(row, before, message)
  return {
    id = row.id,
    kind = row.kind,
    start = row.start,
    previous = before and { kind = before.kind, called = #(before.tools or {}) > 0 },
    branch = row.branch and { number = row.branch.number, count = #row.branch.siblings },
    blocks = message.blocks,
  }
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
        rows[at] = said(agent.rows[at], before, message)
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

return M
