-- Subagents within the transcript of their session: which call started which, and the items of what one did.
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
---@field items claude-ide.transcript.Item[]

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

---Learns of the subagents that a message started, and renders those that are open.
---@param view claude-ide.transcript.View
---@param message claude-ide.sessions.Message
---@param row? claude-ide.sessions.Row the message's
---@param from? claude-ide.transcript.AgentView the subagent whose message it is
function M.find(view, message, row, from)
  local call = 0
  for _, block in ipairs(message.blocks) do
    if block.type == "tool_use" and block.id then
      call = call + 1
      local tool = row and row.tools and row.tools[call]
      local agent, first = M.of_call(view, block.id, from), tool and tool.sidechain
      local known = view.agents[block.id]
      if not known and (agent or first) then
        known = {
          tool_id = block.id,
          root = from and from.root or block.id,
          open = false,
          loading = false,
          rows = {},
          messages = {},
          left_out = 0,
          items = {},
        }
        view.agents[block.id] = known
      end
      if known then
        known.agent, known.first = agent or known.agent, first or known.first
        if known.open then
          M.render(view, known)
        end
      end
    end
  end
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
function M.render(view, agent)
  local render = require("claude-ide.transcript.render")
  agent.items = {}
  local previous ---@type claude-ide.sessions.Row?
  for at, message in ipairs(agent.messages) do
    local row = agent.rows[at]
    M.find(view, message, row, agent)
    local context = require("claude-ide.transcript.context").of_agent(view, agent, row, previous)
    local items = render.message(message, context)
    for _, item in ipairs(items) do
      item.key = ("%d:%s"):format(row.id, item.key)
      agent.items[#agent.items + 1] = item
    end
    if not render.is_hidden(row) then
      previous = row
    end
  end
end

return M
