-- Subagents within the transcript of their session: which call started which.
-- It is read when it is asked for (agent_reader.lua).

local M = {}

---@class claude-ide.transcript.AgentView
---@field tool_id string the call that started it
---@field root string the call in the session itself, above all that are nested
---@field agent? claude-ide.sessions.Agent
---@field first? integer its first message, where it lies among those of the session (older CLIs)
---@field open boolean
---@field loading boolean
---@field err? string
---@field source? claude-ide.transcript.Source its own; nil where it lies in that of the session
---@field rows claude-ide.sessions.Row[]
---@field messages claude-ide.sessions.Message[]
---@field left_out integer messages before those

---What is known of the subagent that a call started.
---@param view claude-ide.transcript.View
---@param tool_id string
---@param from? claude-ide.transcript.AgentView the subagent that made the call: its transcript may know more
---@return claude-ide.sessions.Agent?
function M.of_call(view, tool_id, from)
  for _, source in ipairs({ view.source, from and from.source }) do
    local agent = source.agent_of and source:agent_of(tool_id)
    if agent then
      return agent
    end
  end
  return nil
end

---@param view claude-ide.transcript.View
---@param tool_id string
---@param first? integer
---@param from? claude-ide.transcript.AgentView the subagent that made the call
---@return claude-ide.transcript.AgentView? nil: the call started none
local function learn(view, tool_id, first, from)
  local agent, known = M.of_call(view, tool_id, from), view.agents[tool_id]
  if not known and (agent or first) then
    known = {
      tool_id = tool_id,
      root = from and from.root or tool_id,
      open = false,
      loading = false,
      rows = {},
      messages = {},
      left_out = 0,
    }
    view.agents[tool_id] = known
  end
  if known then
    known.agent, known.first = agent or known.agent, first or known.first
  end
  return known
end

---The subagents that a message started, and those that are shown within them, by call.
---@param view claude-ide.transcript.View
---@param message claude-ide.sessions.Message
---@param row? claude-ide.sessions.Row the message's
---@param from? claude-ide.transcript.AgentView the subagent whose message it is
---@param found? table<string, claude-ide.transcript.AgentView>
---@return table<string, claude-ide.transcript.AgentView> found
function M.of_message(view, message, row, from, found)
  found = found or {}
  local call = 0
  for _, block in ipairs(message.blocks) do
    if block.type == "tool_use" and block.id then
      call = call + 1
      local tool = row and row.tools and row.tools[call]
      local agent = not found[block.id] and learn(view, block.id, tool and tool.sidechain, from)
      if agent then
        found[block.id] = agent
        for at, nested in ipairs(agent.open and agent.messages or {}) do
          M.of_message(view, nested, agent.rows[at], agent, found)
        end
      end
    end
  end
  return found
end

return M
