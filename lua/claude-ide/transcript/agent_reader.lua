-- Shows subagents inside their session's transcript: reads their messages on demand and drops them when closed.

local M = {}

---@class claude-ide.transcript.AgentView
---@field tool_id string the call that started the subagent
---@field root string the top-level call that contains it
---@field agent? claude-ide.sessions.Agent
---@field sidechain? integer its first message, if it is among the session's (older CLIs)
---@field open boolean
---@field loading boolean
---@field err? string
---@field source? claude-ide.transcript.Source nil: its messages are in the session's source
---@field rows claude-ide.sessions.Row[]
---@field messages claude-ide.sessions.Message[]
---@field left_out integer earlier messages that are not shown

---Maximum number of messages shown, the newest ones.
local MOST = 200
---Longer texts are cut.
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
---@param target claude-ide.transcript.Target of a line of the call
---@param item claude-ide.transcript.Item with that line
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

---Whether a subagent's messages are shown.
---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target
---@return boolean
function M.is_open(view, target)
  local agent = view.agents[target.tool_id or ""]
  return agent ~= nil and agent.open
end

---Shows or hides a subagent's messages.
---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target of a line of the call
---@param item claude-ide.transcript.Item with that line
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

---Redraws open subagents: nested ones may be known now.
---@param view claude-ide.transcript.View
function M.look_again(view)
  for _, agent in pairs(view.agents) do
    if agent.open then
      show(view, agent)
    end
  end
end

---@param view claude-ide.transcript.View
function M.close_all(view)
  for _, agent in pairs(view.agents) do
    close(agent)
  end
  view.agents = {}
end

return M
