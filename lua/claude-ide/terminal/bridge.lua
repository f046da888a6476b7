-- The bridge to our mod (mod/hooks/register.js) inside of CLIs that `:Claude` starts: it takes orders, which it waits for, and reports what
-- calls did. Each CLI has a token of its own, which only its process can use (crates/server/src/connection.rs).
-- Invariants: an order is given once, and its `done` is called once. Where a CLI has no mod, or the mod is silent, there is no bridge, and
-- all works without it. What the mod reports decides nothing.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local limits = lazy("claude-ide.sessions.limits")
local server = lazy("claude-ide.server")
local sessions_live = lazy("claude-ide.sessions.live")
local terminals = lazy("claude-ide.terminal")
local timers = lazy("claude-ide.base.timer")

local M = {}

---How long the mod waits for an order before it asks again. The CLI (2.1.329) gives a request up after 30 s.
local ASK_MS = 20000
---How long after its last question the mod is taken for present.
local AWAY_MS = 3000
---Limit for an order.
M.ORDER_MS = 10000
---Limit for one that a mod has which goes on asking: hooks of the user may hold a prompt for minutes.
M.HELD_MS = 10 * 60 * 1000

---@alias claude-ide.terminal.Op
---| "submit" # a prompt, whatever text stands there
---| "stop" # the running turn
---| "watch" # calls: "on" or "off"

---What has become of an order; refused: nothing was done; lost: it is not known.
---@alias claude-ide.terminal.OrderResult "done"|"refused"|"lost"

---@class claude-ide.terminal.Order
---@field id integer
---@field op claude-ide.terminal.Op
---@field text string
---@field done fun(result: claude-ide.terminal.OrderResult, text: string)
---@field bridge claude-ide.terminal.Bridge
---@field since integer
---@field is_given? boolean the mod has it
---@field timer claude-ide.Timer

---@class claude-ide.terminal.Usage
---@field context? integer how full it is, in percent
---@field cost? number dollars
---@field limit? claude-ide.sessions.Limit the nearest of the account, if one is near

---@class claude-ide.terminal.Bridge
---@field pid? integer of the CLI; nil: the system does not show processes
---@field run string name of the CLI
---@field orders claude-ide.terminal.Order[] that have no result
---@field ask? claude-ide.Respond the mod waits for an order
---@field call? integer the call with which it does
---@field asked integer when it did last
---@field usage? claude-ide.terminal.Usage

---By client.
---@type table<integer, claude-ide.terminal.Bridge>
local bridges = {}
local last_id = 0
---Whether what calls did is wanted.
local is_watched = false

---@param order claude-ide.terminal.Order
---@param result claude-ide.terminal.OrderResult
---@param text string
local function over(order, result, text)
  for at, other in ipairs(order.bridge.orders) do
    if other == order then
      table.remove(order.bridge.orders, at)
      order.timer:stop()
      order.done(result, text)
      return
    end
  end
end

---@param bridge claude-ide.terminal.Bridge
---@param order? claude-ide.terminal.Order
local function answer(bridge, order)
  local ask = bridge.ask --[[@as claude-ide.Respond]]
  bridge.ask, bridge.call, bridge.asked = nil, nil, vim.uv.now()
  if order then
    order.is_given = true
    ask({ op = order.op, id = tostring(order.id), text = order.text })
  else
    ask(vim.NIL)
  end
end

---Gives the mod the next order, if it waits for one.
---@param bridge claude-ide.terminal.Bridge
local function give(bridge)
  local order = vim.iter(bridge.orders):find(function(one)
    return not one.is_given
  end)
  if bridge.ask and order then
    answer(bridge, order)
  end
end

---@param bridge claude-ide.terminal.Bridge
---@return boolean
local function is_there(bridge)
  return bridge.ask ~= nil or vim.uv.now() - bridge.asked < AWAY_MS
end

---The bridge to the CLI of a terminal.
---@param terminal claude-ide.terminal.Session
---@return claude-ide.terminal.Bridge? bridge nil: its mod does not answer
function M.of(terminal)
  local live = terminal:live()
  for _, bridge in pairs(bridges) do
    local is_its = live and live.pid == (bridge.pid or live.pid) and terminals.of_run(bridge.run) == terminal
    if is_its and is_there(bridge) then
      return bridge
    end
  end
end

---Gives an order.
---@param bridge claude-ide.terminal.Bridge
---@param op claude-ide.terminal.Op
---@param text string
---@param done fun(result: claude-ide.terminal.OrderResult, text: string) text: why not; called later
---@return claude-ide.terminal.Order
function M.order(bridge, op, text, done)
  last_id = last_id + 1
  ---@type claude-ide.terminal.Order
  local order = {
    id = last_id,
    op = op,
    text = text,
    bridge = bridge,
    done = done,
    since = vim.uv.now(),
    timer = timers.new("give up an order"),
  }
  table.insert(bridge.orders, order)
  order.timer:every(M.ORDER_MS, function()
    if order.is_given and is_there(bridge) and vim.uv.now() - order.since < M.HELD_MS then
      return
    end
    over(order, order.is_given and "lost" or "refused", "Claude does not answer")
  end)
  give(bridge)
  return order
end

---Takes an order back. Its `done` is not called.
---@param order claude-ide.terminal.Order
---@return boolean done false: the mod has it already
function M.take_back(order)
  if order.is_given then
    return false
  end
  order.done = function() end
  over(order, "refused", "")
  return true
end

---@param bridge claude-ide.terminal.Bridge
local function tell_whether_watched(bridge)
  M.order(bridge, "watch", is_watched and "on" or "off", function() end)
end

---Whether mods report what calls did, as `call_reported` of the bus.
---@param is_on boolean
function M.watch(is_on)
  is_watched = is_on
  for _, bridge in pairs(bridges) do
    tell_whether_watched(bridge)
  end
end

---A mod waits for an order.
---@param client integer
---@param call integer
---@param respond claude-ide.Respond
function M.wait(client, call, respond)
  local bridge = bridges[client]
  if not bridge then
    return respond(vim.NIL) -- its client has gone in the meantime
  end
  local is_back = not bridge.ask and vim.uv.now() - bridge.asked > AWAY_MS
  if bridge.ask then
    answer(bridge)
  end
  bridge.ask, bridge.call, bridge.asked = respond, call, vim.uv.now()
  if is_back and is_watched then
    tell_whether_watched(bridge)
  end
  give(bridge)
  vim.defer_fn(function()
    if bridge.call == call then
      answer(bridge)
    end
  end, ASK_MS)
end

---A mod does not wait any more.
---@param call integer
function M.cancel(call)
  for _, bridge in pairs(bridges) do
    if bridge.call == call then
      bridge.ask, bridge.call, bridge.asked = nil, nil, 0
    end
  end
end

---@class claude-ide.terminal.Report
---@field event "call"|"done"|"usage"
---@field id? string
---@field tool? string
---@field agent? string
---@field is_done boolean
---@field text? string
---@field location? claude-ide.sessions.Location
---@field usage? claude-ide.terminal.Usage

---A mod reports.
---@param client integer
---@param report claude-ide.terminal.Report
function M.report(client, report)
  local bridge = bridges[client]
  if not bridge then
    return
  elseif report.event == "done" then
    for _, order in ipairs(bridge.orders) do
      if tostring(order.id) == report.id then
        return over(order, report.is_done and "done" or "refused", report.text or "")
      end
    end
  elseif report.event == "call" and report.location then
    local cli = vim.iter(server.clients()):find(function(one)
      return one.pid == bridge.pid
    end)
    if cli then
      bus.emit("call_reported", cli.id, report)
    end
  elseif report.event == "usage" and report.usage then
    bridge.usage = report.usage
    local live = sessions_live.of_pid(bridge.pid)
    limits.tell(live and live.config_dir, report.usage.limit)
  end
end

---What the last turn of a CLI has left.
---@param pid integer
---@return claude-ide.terminal.Usage?
function M.usage(pid)
  for _, bridge in pairs(bridges) do
    if bridge.pid == pid then
      return bridge.usage
    end
  end
end

---@param client claude-ide.Client
local function connected(client)
  bridges[client.id] = { pid = client.pid, run = client.run or "", orders = {}, asked = 0 }
end

---@param client integer
local function gone(client)
  local bridge = bridges[client]
  bridges[client] = nil
  for _, order in ipairs(bridge and vim.list_slice(bridge.orders) or {}) do
    over(order, order.is_given and "lost" or "refused", "Claude has ended")
  end
end

---Follows the mods that connect.
M.attach = require("claude-ide.base.once")(function()
  bus.on("mod_connected", connected)
  bus.on("mod_disconnected", function(client)
    gone(client.id)
  end)
  bus.on("server_stopped", function()
    vim.iter(vim.tbl_keys(bridges)):each(gone)
  end)
end)

return M
