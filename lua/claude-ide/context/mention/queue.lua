-- Queues mentions and delivers them in order, each once, to one client: the one whose root is the innermost around the file, else the
-- most recently used; if that is ambiguous, the user chooses. Of terminals of this Neovim the tab page's is meant, else the last used.
-- Invariant: an entry leaves the queue only when the server has accepted it, the user has dropped it, or its client has no
-- mention for it.
-- Not the outbox (outbox/init.lua): a mention is a notification to a connection. It needs no idle CLI and no empty prompt, since it is put
-- beside what the user types, and it is meant for the client that is nearest once it can be sent, not for a session.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local choose = lazy("claude-ide.ui.choose")
local config = lazy("claude-ide.config")
local event = lazy("claude-ide.config.event")
local listening = lazy("claude-ide.server.listening")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local server = lazy("claude-ide.server")
local terminals = lazy("claude-ide.terminal")

local M = {}

---Retry interval for a client that could not accept a mention.
local RETRY_MS = 250

---Clients that accept mentions, now or soon, in order of connection.
---@return claude-ide.Client[]
local function ready()
  return vim.tbl_filter(function(client)
    return client.state == "ready"
  end, server.clients())
end

---Depth of the client's innermost root around a path; 0: none.
---@param path string absolute
local function nearness(client, path)
  local real, longest = paths.real(path), 0
  for _, root in ipairs(client.roots or {}) do
    if paths.within(path, root) or paths.within(real, paths.real(root)) then
      longest = math.max(longest, #paths.real(root))
    end
  end
  return longest
end

---@return claude-ide.Client[] nearest
---@return integer nearness
local function nearest(clients, path)
  local found, longest = {}, 0
  for _, client in ipairs(clients) do
    local near = nearness(client, path)
    if near > longest then
      found, longest = { client }, near
    elseif near == longest then
      found[#found + 1] = client
    end
  end
  return found, longest
end

---@param id? integer
---@return claude-ide.Client?
local function with_id(clients, id)
  return id and vim.iter(clients):find(function(client)
    return client.id == id
  end)
end

---@param terminal? claude-ide.terminal.Session
---@return claude-ide.Client[] clients without those of other terminals
local function without_others(clients, terminal)
  return terminal
      and vim.tbl_filter(function(client)
        local its = terminals.of_process(client.pid)
        return its == nil or its == terminal
      end, clients)
    or clients
end

---The last used one of the terminals that clients run in.
---@return claude-ide.terminal.Session?
local function last_used(clients)
  return terminals.last_used(vim.tbl_filter(function(terminal)
    return vim.iter(clients):any(function(client)
      return terminal:has_process(client.pid)
    end)
  end, terminals.list()))
end

---The clients that a mention may go to: none, one, or several equally suitable ones.
---@param path string absolute
---@param batch claude-ide.mention.Batch
---@return claude-ide.Client[]
---@return string key identifies the choice
local function candidates(path, batch)
  local chosen = batch.chosen
  local here = batch.terminal and batch.terminal:is_alive() and batch.terminal or nil
  local clients, near = nearest(without_others(ready(), here), path)
  clients = without_others(clients, last_used(clients))
  local ids = vim.tbl_map(function(client)
    return client.id
  end, clients)
  local key = table.concat(ids, ",")
  local choice = with_id(clients, chosen[key])
  if #clients > 1 and near == 0 and not choice then
    local last = server.last_client()
    choice = with_id(clients, last and last.id)
  end
  return choice and { choice } or clients, key
end

---A path below one of the client's roots, if symbolic links matter.
local function path_for(path, client)
  local real = paths.real(path)
  for _, root in ipairs(client.roots or {}) do
    if not paths.within(path, root) and paths.within(real, root) then
      return real
    end
  end
  return path
end

local function label(client)
  local folder = client.roots and client.roots[1] and vim.fn.fnamemodify(client.roots[1], ":~")
  local pid = client.pid and ("pid %d"):format(client.pid) or ("connection %d"):format(client.id)
  return ("%s in %s (%s)"):format(client.name or "Claude", folder or "an unknown folder", pid)
end

---The mentions of one command.
---@class claude-ide.mention.Batch
---@field chosen table<string, integer> the user's choices
---@field terminal? claude-ide.terminal.Session of the tab page

---@class claude-ide.mention.Waiting
---@field entry claude-ide.mention.Entry
---@field batch claude-ide.mention.Batch

---@type claude-ide.mention.Waiting[]
local waiting = {}

---The open question. Answers to earlier ones are dropped.
---@type table?
local question

---@type fun(entry: claude-ide.mention.Entry, client: claude-ide.Client)?
local on_sent

---@return boolean? sent
local function deliver(entry, client)
  -- 0-based lines, inclusive. Absent rather than null: the CLI drops a mention with null.
  local params = {
    filePath = path_for(entry.path, client),
    lineStart = entry.first and entry.first - 1,
    lineEnd = entry.last and entry.last - 1,
  }
  local sent, err = server.notify("at_mentioned", params, client.id)
  if not sent then
    log.info("a mention for client %d waits: %s", client.id, err)
  end
  return sent
end

local function announce(entry, client)
  local data = { path = entry.path, first = entry.first, last = entry.last, client = client }
  event.emit("ClaudeMentionSent", data)
  if on_sent then
    on_sent(entry, client)
  end
end

---Asks which client gets the first queued mention.
local function ask(clients, key)
  local asked = {}
  question = asked
  local first = waiting[1]
  choose.select(clients, {
    prompt = "Mention to which Claude?",
    kind = "claude-ide.client",
    format_item = label,
  }, function(client)
    if question ~= asked then
      return
    end
    question = nil
    if client then
      first.batch.chosen[key] = client.id
    else
      local given_up = first.batch
      waiting = vim.tbl_filter(function(other)
        return other.batch ~= given_up
      end, waiting)
      notice.info("Not sent to Claude.")
    end
    M.flush()
  end)
end

local retry_soon = require("claude-ide.base.soon")(function()
  M.flush()
end, RETRY_MS)

---Whether a client works in a folder. The CLI names files from there, and would mention the folder itself as a bare `@`.
---@param client claude-ide.Client
---@param path string
---@return boolean
local function works_in(client, path)
  local folder = client.roots and client.roots[1]
  return folder ~= nil and paths.real(folder) == paths.real(path)
end

---Delivers queued mentions.
function M.flush()
  while waiting[1] and not question do
    local first = waiting[1]
    local clients, key = candidates(first.entry.path, first.batch)
    if #clients > 1 then
      ask(clients, key)
    elseif #clients == 0 or not listening.is_listening(clients[1]) then
      break -- until it is ready
    elseif works_in(clients[1], first.entry.path) then
      table.remove(waiting, 1)
      notice.warn("Not mentioned: Claude works in this folder. Mention files or folders in it.")
    elseif deliver(first.entry, clients[1]) then
      table.remove(waiting, 1)
      announce(first.entry, clients[1])
    else
      retry_soon()
      break
    end
  end
end

---Queues the mentions of one command, all or none.
---@param entries claude-ide.mention.Entry[]
---@return boolean? taken
---@return string? err
function M.push(entries)
  local most = config.get().mention.max_pending
  local batch = { chosen = {}, terminal = terminals.of_tab() } ---@type claude-ide.mention.Batch
  local must_wait = #waiting > 0 or #ready() == 0
  if must_wait and #waiting + #entries > most then
    return nil, ("Not queued: %d mentions are waiting already (`mention.max_pending`)."):format(#waiting)
  end
  for _, entry in ipairs(entries) do
    waiting[#waiting + 1] = { entry = entry, batch = batch }
  end
  question = nil -- some pickers do not report that they were closed: ask again
  M.flush()
  return true
end

---@return integer
function M.count()
  return #waiting
end

---The CLI that must connect before the next mention is sent.
---@return string? name
function M.awaited()
  local first = waiting[1]
  if not first or #candidates(first.entry.path, first.batch) > 0 then
    return nil
  end
  local terminal = first.batch.terminal
  return terminal and #terminals.list() > 1 and terminal:name() or "Claude"
end

---Delivers to clients as they connect.
---@param sent fun(entry: claude-ide.mention.Entry, client: claude-ide.Client) called after each delivery
function M.attach(sent)
  if on_sent then
    return
  end
  on_sent = sent
  listening.attach()
  bus.on("client_listening", M.flush)
  -- Mentions for a client that left go to another one.
  bus.on("client_disconnected", M.flush)
end

return M
