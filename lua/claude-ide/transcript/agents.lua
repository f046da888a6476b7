-- Subagents within the transcript of their session: which call started which, and what one did, loaded when it is asked for.

local M = {}

---@class claude-ide.transcript.AgentView
---@field tool_id string the call that started it
---@field root string the call in the session itself, above all that are nested
---@field agent? claude-ide.sessions.Agent
---@field first? integer its first message, where it lies in the session's file (older CLIs)
---@field open boolean
---@field loading boolean
---@field err? string
---@field transcript? claude-ide.sessions.Transcript its own; nil where it lies in the session's file
---@field rows claude-ide.sessions.Row[]
---@field messages claude-ide.sessions.Message[]
---@field left_out integer messages before those
---@field items claude-ide.transcript.Item[]

---Most messages that are shown within another transcript: the newest.
local MOST = 200
---Texts longer than this are cut.
local MAX_TEXT = 4 * 1024

---@param view claude-ide.transcript.AgentView
---@return string
function M.title(view)
  local agent = view.agent
  local words = {}
  words[1] = agent and agent.agent_type and ("Subagent %s"):format(agent.agent_type) or "Subagent"
  if view.err then
    words[2] = view.err
  elseif view.loading then
    words[2] = "reading …"
  elseif view.open then
    words[2] = ("%d messages"):format(#view.rows)
    words[3] = view.left_out > 0 and ("%d before: gf shows all"):format(view.left_out) or nil
  else
    words[2] = "Enter shows what it did"
  end
  return table.concat(words, " · ")
end

---@param view claude-ide.transcript.View
---@param tool_id string
---@return claude-ide.sessions.Agent?
local function agent_of(view, tool_id)
  for _, agent in ipairs(view.transcript:info().agents or {}) do
    if agent.tool_use_id == tool_id then
      return agent
    end
  end
  return nil
end

---Learns of the subagents that a message started, and renders those that are open.
---@param view claude-ide.transcript.View
---@param message claude-ide.sessions.Message
---@param row? claude-ide.sessions.Row the message's
---@param root? string the call at the top, within a subagent
function M.find(view, message, row, root)
  local call = 0
  for _, block in ipairs(message.blocks) do
    if block.type == "tool_use" and block.id then
      call = call + 1
      local tool = row and row.tools and row.tools[call]
      local agent, first = agent_of(view, block.id), tool and tool.sidechain
      local known = view.agents[block.id]
      if not known and (agent or first) then
        known = {
          tool_id = block.id,
          root = root or block.id,
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
  local previous
  for at, message in ipairs(agent.messages) do
    local row = agent.rows[at]
    M.find(view, message, row, agent.root)
    local items = render.message(message, {
      row = row,
      previous = previous,
      cwd = view.cwd,
      source = agent.agent and agent.agent.file or view.file,
      message = message.id,
      agents = view.agents,
    })
    for _, item in ipairs(items) do
      item.key = ("%d:%s"):format(row.id, item.key)
      agent.items[#agent.items + 1] = item
    end
    if not render.is_hidden(row) then
      previous = row
    end
  end
end

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
---@param from claude-ide.sessions.Transcript
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
local function read_file(view, agent)
  local transcript = agent.transcript
  if not transcript then
    return
  end
  local from = math.max(transcript:info().len - MOST, 0)
  transcript:rows(from, MOST, function(rows, err)
    if rows then
      read(view, agent, transcript, rows, from)
    else
      fail(view, agent, err or "it cannot be read")
    end
  end)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function load(view, agent)
  agent.loading = true
  if agent.agent then
    require("claude-ide.sessions").open(agent.agent.file, function(transcript, err)
      if view.closed or not agent.open then
        if transcript then
          transcript:close()
        end
        return
      elseif not transcript then
        agent.transcript = nil
        return fail(view, agent, err or "it cannot be read")
      end
      agent.transcript = transcript
      read_file(view, agent)
    end, function()
      if agent.open then
        read_file(view, agent)
      end
    end)
  elseif view.transcript and agent.first then
    local transcript = view.transcript
    transcript:sidechain(agent.first, function(rows, err)
      if not rows then
        return fail(view, agent, err or "it cannot be read")
      end
      local left_out = math.max(#rows - MOST, 0)
      read(view, agent, transcript, vim.list_slice(rows, left_out + 1), left_out)
    end)
  end
end

---@param agent claude-ide.transcript.AgentView
local function close(agent)
  agent.open, agent.items, agent.messages, agent.rows = false, {}, {}, {}
  if agent.transcript then
    agent.transcript:close()
    agent.transcript = nil
  end
end

---Shows what a subagent did, or hides it.
---@param view claude-ide.transcript.View
---@param tool_id string
function M.toggle(view, tool_id)
  local agent = view.agents[tool_id]
  if not agent then
    return
  elseif agent.open then
    close(agent)
  else
    agent.open, agent.err = true, nil
    load(view, agent)
  end
  show(view, agent)
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
