-- Subagents within the transcript of their session: what they did, read when it is asked for, and let go of again.

local M = {}

---@class claude-ide.transcript.AgentView
---@field tool_id string the call that started it
---@field root string the call in the session itself, above all that are nested
---@field agent? claude-ide.sessions.Agent
---@field sidechain? integer its first message, where it lies among those of the session (older CLIs)
---@field open boolean
---@field loading boolean
---@field err? string
---@field source? claude-ide.transcript.Source its own; nil where it lies in that of the session
---@field rows claude-ide.sessions.Row[]
---@field messages claude-ide.sessions.Message[]
---@field left_out integer messages before those

---Most messages that are shown within another transcript: the newest.
local MOST = 200
---Texts longer than this are cut.
local MAX_TEXT = 4 * 1024

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function show(view, agent)
  require("claude-ide.transcript.loader").show_again(view, "tool:" .. agent.root)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
---@param err string
local function fail(view, agent, err)
  agent.loading, agent.err = false, err
  show(view, agent)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
---@param from claude-ide.transcript.Source
---@param rows claude-ide.sessions.Row[]
---@param left_out integer
local function read(view, agent, from, rows, left_out)
  local ids = vim.tbl_map(function(row)
    return row.id
  end, rows)
  from:messages(ids, MAX_TEXT, function(messages, err)
    if not messages then
      return fail(view, agent, err or "it cannot be read")
    end
    agent.loading, agent.err = false, nil
    agent.rows, agent.messages, agent.left_out = rows, messages, left_out
    show(view, agent)
  end)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function read_source(view, agent)
  local source = agent.source
  local info = source and source:info()
  if not source or not info then
    return
  end
  local from = math.max(info.len - MOST, 0)
  source:rows(from, MOST, function(rows, err)
    if rows then
      read(view, agent, source, rows, from)
    else
      fail(view, agent, err or "it cannot be read")
    end
  end)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function load(view, agent)
  local source = view.source
  agent.loading = true
  local function read_again()
    read_source(view, agent)
  end
  if agent.agent and source.subagent then
    agent.source = source:subagent(agent.agent, view.cwd)
    agent.source:open({
      opened = read_again,
      changed = read_again,
      appended = read_again,
      failed = function(err)
        agent.source = nil
        fail(view, agent, err)
      end,
    })
  elseif source.sidechain and agent.sidechain then
    source:sidechain(agent.sidechain, function(rows, err)
      if not rows then
        return fail(view, agent, err or "it cannot be read")
      end
      local left_out = math.max(#rows - MOST, 0)
      read(view, agent, source, vim.list_slice(rows, left_out + 1), left_out)
    end)
  end
end

---@param agent claude-ide.transcript.AgentView
local function close(agent)
  agent.open, agent.messages, agent.rows = false, {}, {}
  if agent.source then
    agent.source:close()
    agent.source = nil
  end
end

---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target of a line of its call
---@param item claude-ide.transcript.Item that has the line
---@return claude-ide.transcript.AgentView
local function learn(view, target, item)
  local tool_id = target.tool_id --[[@as string]]
  view.agents[tool_id] = view.agents[tool_id]
    or {
      tool_id = tool_id,
      root = item.key:gsub("^tool:", ""),
      agent = require("claude-ide.transcript.render").agent_of(view, tool_id),
      sidechain = target.sidechain,
      open = false,
      loading = false,
      rows = {},
      messages = {},
      left_out = 0,
    }
  return view.agents[tool_id]
end

---Whether what a subagent did is shown.
---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target
---@return boolean
function M.is_open(view, target)
  local agent = view.agents[target.tool_id or ""]
  return agent ~= nil and agent.open
end

---Shows what a subagent did, or hides it.
---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target of a line of its call
---@param item claude-ide.transcript.Item that has the line
function M.toggle(view, target, item)
  local agent = learn(view, target, item)
  if agent.open then
    close(agent)
  else
    agent.open, agent.err = true, nil
    load(view, agent)
  end
  show(view, agent)
end

---More is known of the subagents that there are: those that another subagent started are drawn within it.
---@param view claude-ide.transcript.View
function M.look_again(view)
  for _, agent in pairs(view.agents) do
    if agent.open then
      show(view, agent)
    end
  end
end

---Lets go of all.
---@param view claude-ide.transcript.View
function M.close_all(view)
  for _, agent in pairs(view.agents) do
    close(agent)
  end
  view.agents = {}
end

return M
