-- What the editor knows for drawing rows, which the library does (`crates/session/src/render`), those of files on its own threads.
-- Rows of an item are 0-based.

local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local nested = lazy("claude-ide.transcript.nested")
local waits = lazy("claude-ide.sessions.waits")

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
---@field message? integer more
---@field block? integer more: index of the message's block, from 1
---@field argument? string more: name of the call's argument; nil: its result
---@field call? boolean agent: on the line of the call
---@field sidechain? integer agent: its first message, if it is in the same file
---@field owner? claude-ide.transcript.Source of a subagent that is shown within; nil: the view's

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
---@field is_marked? boolean its marks are in the buffer

local M = {}

---Whether the session has ended; a call without a result runs only in a running session.
---@param view claude-ide.transcript.View
---@return boolean
function M.is_ended(view)
  if view.source.runs then
    return not view.source:runs()
  end
  return catalogue.running(view.session) == nil
end

---Whether a message is the user's, as a target of `]]`.
---@param kind claude-ide.sessions.RowKind
---@return boolean
function M.is_prompt(kind)
  return kind == "prompt" or kind == "command"
end

---@class claude-ide.transcript.DrawRequest
---@field rows integer[]
---@field agents? table<string, claude-ide.sessions.Agent> by call: those that the source may not know
---@field open? string[] calls whose subagents are shown within
---@field sidechain? integer the rows are those of the subagent with this first message

---@class claude-ide.transcript.Drawn a rendered row
---@field at integer its number
---@field row claude-ide.sessions.Row
---@field items claude-ide.transcript.Item[]

---The subagents that sources know, by the call that started each.
---@param view claude-ide.transcript.View
---@return table<string, claude-ide.sessions.Agent>
local function agents_by_call(view)
  local sources = { view.source }
  for _, agent in pairs(view.agents) do
    sources[#sources + 1] = agent.source -- knows nested subagents
  end
  local by_call = {} ---@type table<string, claude-ide.sessions.Agent>
  for _, source in ipairs(sources) do
    for _, agent in ipairs(source:known_agents()) do
      local call = agent.tool_use_id
      if call then
        by_call[call] = by_call[call] or agent
      end
    end
  end
  return by_call
end

---The subagent that a call started, if a source knows it.
---@param view claude-ide.transcript.View
---@param tool_id string
---@return claude-ide.sessions.Agent?
function M.agent_of(view, tool_id)
  return agents_by_call(view)[tool_id]
end

---The request to render rows.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@param agent? claude-ide.transcript.AgentView whose rows they are
---@return claude-ide.transcript.DrawRequest
function M.request(view, rows, agent)
  local source = agent and agent.source or view.source
  local open = vim.tbl_filter(function(tool_id)
    return view.agents[tool_id].open
  end, vim.tbl_keys(view.agents))
  local agents = agent and agents_by_call(view) or {}
  local own = agent and (agents[agent.tool_id] or agent.agent)
  return {
    rows = rows,
    cwd = view.cwd,
    home = vim.env.HOME,
    max_lines = source.max_lines,
    speaker = source.speaker,
    of_agent = agent ~= nil or source.is_agent,
    ended = M.is_ended(view) or own ~= nil and not own.running,
    waits = waits.of(view.session),
    agents = next(agents) and agents,
    open = open[1] and open,
    sidechain = agent and not agent.source and agent.sidechain or nil,
  }
end

---Renders rows, with the subagents that are open within.
---@param view claude-ide.transcript.View
---@param rows integer[]
---@param done claude-ide.sessions.Done<table<integer, claude-ide.transcript.Drawn>>
function M.draw(view, rows, done)
  view.source:draw(M.request(view, rows), function(drawn, err)
    for _, one in pairs(drawn or {}) do
      one.items = nested.embed(view, one.items)
    end
    done(drawn, err)
  end)
end

return M
