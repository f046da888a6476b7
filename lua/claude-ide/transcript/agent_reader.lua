-- Shows subagents inside their session's transcript: has their messages drawn on demand and drops them when closed.

local lazy = require("claude-ide.lazy")
local loader = lazy("claude-ide.transcript.loader")
local render = lazy("claude-ide.transcript.render")
local source_file = lazy("claude-ide.transcript.source.file")

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
---@field inside? claude-ide.transcript.AgentView the subagent that started it
---@field items claude-ide.transcript.Item[]
---@field count integer messages
---@field left_out integer earlier messages that are not shown
---@field reading integer number of the last drawing

---Maximum number of messages shown, the newest ones.
local MOST = 200
---Longer texts are cut.
local MAX_TEXT = 4 * 1024

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function show(view, agent)
  loader.show_again(view, "tool:" .. agent.root)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
---@param err string
local function fail(view, agent, err)
  agent.loading, agent.err = false, err
  show(view, agent)
end

---Draws the rows from `left_out` on, as many as fit at a time.
---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
---@param left_out integer
---@param len integer
local function draw(view, agent, left_out, len)
  local items, source = {}, agent.source or view.source
  agent.reading = agent.reading + 1
  local drawing = agent.reading
  ---@param at integer
  local function go_on(at)
    local rows = {}
    for row = at, len - 1 do
      rows[#rows + 1] = row
    end
    source:draw(render.request(view, rows, agent), function(drawn, err)
      if not agent.open or agent.reading ~= drawing then
        return -- the next drawing has all of it
      elseif not drawn then
        return fail(view, agent, err or "it cannot be read")
      end
      local is_over = not drawn[at]
      while drawn[at] do
        for _, item in ipairs(drawn[at].items) do
          item.key = ("%d:%s"):format(drawn[at].row.id, item.key)
          items[#items + 1] = item
        end
        at = at + 1
      end
      if at < len and not is_over then
        return go_on(at)
      end
      agent.loading, agent.err = false, nil
      agent.items, agent.count, agent.left_out = items, at - left_out, left_out
      show(view, agent)
    end)
  end
  go_on(left_out)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function read(view, agent)
  local info = agent.source and agent.source:info()
  if info then
    draw(view, agent, math.max(info.len - MOST, 0), info.len)
  elseif not agent.source and view.source.sidechain and agent.sidechain then
    view.source:sidechain(agent.sidechain, function(rows, err)
      if rows then
        draw(view, agent, math.max(#rows - MOST, 0), #rows)
      else
        fail(view, agent, err or "it cannot be read")
      end
    end)
  end
end

---A subagent's transcript, which has a file of its own.
---@param view claude-ide.transcript.View of its session
---@param agent claude-ide.sessions.Agent
---@return claude-ide.transcript.FileSource
function M.source_of(view, agent)
  return source_file.new(agent.file, view.cwd)
end

---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
local function load(view, agent)
  agent.loading = true
  local function read_again()
    read(view, agent)
  end
  if agent.agent then
    agent.source = M.source_of(view, agent.agent)
    agent.source.max_text = MAX_TEXT
    agent.source:open({
      opened = read_again,
      changed = read_again,
      appended = read_again,
      failed = function(err)
        agent.source = nil
        fail(view, agent, err)
      end,
    })
  else
    read_again()
  end
end

---@param agent claude-ide.transcript.AgentView
local function close(agent)
  agent.open, agent.items, agent.count = false, {}, 0
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
  local inside = target.owner
    and vim.iter(vim.tbl_values(view.agents)):find(function(agent)
      return agent.source == target.owner
    end)
  view.agents[tool_id] = view.agents[tool_id]
    or {
      tool_id = tool_id,
      root = item.key:gsub("^tool:", ""),
      agent = render.agent_of(view, tool_id),
      sidechain = target.sidechain,
      inside = inside,
      open = false,
      loading = false,
      items = {},
      count = 0,
      left_out = 0,
      reading = 0,
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
  if agent.inside and agent.inside.open then
    read(view, agent.inside) -- its call looks different now
  else
    show(view, agent)
  end
end

---Draws open subagents again: what is around them changed.
---@param view claude-ide.transcript.View
function M.look_again(view)
  for _, agent in pairs(view.agents) do
    if agent.open then
      read(view, agent)
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
