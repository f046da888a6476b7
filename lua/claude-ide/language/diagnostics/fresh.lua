-- Waits until language servers have reported on a changed text.
-- Invariant: every wait ends by its deadline. A server is waited for as long as its usual latency, and one that never reports is not
-- waited for again.
local lazy = require("claude-ide.lazy")
local baseline = lazy("claude-ide.language.diagnostics.baseline")
local lsp = lazy("claude-ide.base.lsp")
local servers = lazy("claude-ide.language.diagnostics.servers")
local timers = lazy("claude-ide.base.timer")

local M = {}

local PULL = "textDocument/diagnostic"

---Delay after the last report: some servers publish syntax errors first, type errors a moment later.
local SETTLE_MS = 40

---A client and buffer to wait for.
---@class claude-ide.diagnostics.Slot
---@field client_id? integer nil: a starting server
---@field buf integer
---@field until_ number `vim.uv.now()` time to stop waiting

---@class claude-ide.diagnostics.Wait
---@field open table<string, claude-ide.diagnostics.Slot>
---@field clients table<integer, true> that were asked
---@field bufs table<integer, true>
---@field versions table<integer, integer> of the texts to report on
---@field done? fun(late: table<integer, table<integer, true>>)
---@field began number
---@field ends number
---@field deadline claude-ide.Timer
---@field settle claude-ide.Timer
---@field settle_ms integer
---@field patience claude-ide.Timer
---@field group integer

---@type table<claude-ide.diagnostics.Wait, true>
local waits = {}

local waits_made = 0

local function slot(client_id, buf)
  return client_id .. ":" .. buf
end

local function finish(wait)
  local done = wait.done
  if not done then
    return
  end
  wait.done, waits[wait] = nil, nil
  wait.deadline:stop()
  wait.settle:stop()
  wait.patience:stop()
  vim.api.nvim_del_augroup_by_id(wait.group)
  local late = {} ---@type table<integer, table<integer, true>>
  local function is_late(buf, client_id)
    late[buf] = late[buf] or {}
    late[buf][client_id] = true
  end
  for _, open in pairs(wait.open) do
    if open.client_id and not servers.ran_out(open.client_id, open.buf, wait.ends - wait.began) then
      is_late(open.buf, open.client_id)
    end
  end
  for client_id in pairs(wait.clients) do
    if servers.is_working(client_id) then
      for buf in pairs(wait.bufs) do
        is_late(buf, client_id)
      end
    end
  end
  done(late)
end

local function is_quiet(wait)
  if next(wait.open) ~= nil then
    return false
  end
  for client_id in pairs(wait.clients) do
    if servers.is_working(client_id) then
      return false
    end
  end
  return true
end

local function check(wait)
  if not wait.done then
    return
  end
  wait.settle:stop()
  if is_quiet(wait) then
    wait.settle:start(wait.settle_ms, function()
      if is_quiet(wait) then
        finish(wait)
      end
    end)
  end
end

---Stops waiting for servers whose usual latency has passed.
local function lose_patience(wait)
  if not wait.done then
    return
  end
  local now, next_look = vim.uv.now(), wait.ends
  for key, open in pairs(wait.open) do
    if open.client_id and open.until_ <= now and open.until_ < wait.ends then
      if not servers.is_working(open.client_id) then
        wait.open[key] = nil
        servers.kept_silent(open.client_id, open.buf, now - wait.began)
      end
    else
      next_look = math.min(next_look, open.until_)
    end
  end
  if next_look < wait.ends then
    wait.patience:start(math.max(1, next_look - now), function()
      lose_patience(wait)
    end)
  end
  check(wait)
end

---A server reported. It processes files in turn, so its other slots are extended.
local function goes_on(wait, client_id)
  local now = vim.uv.now()
  for _, open in pairs(wait.open) do
    if open.client_id == client_id then
      open.until_ = math.max(open.until_, now + servers.patience(client_id, wait.ends - now))
    end
  end
end

---@param version? integer of the text reported on
local function published(client_id, buf, version)
  baseline.published(client_id, buf)
  for wait in pairs(waits) do
    goes_on(wait, client_id)
    if wait.bufs[buf] and not (version and wait.versions[buf] and version < wait.versions[buf]) then
      wait.open[slot(client_id, buf)] = nil
      check(wait)
    end
  end
end

local function worked(client_id)
  for wait in pairs(waits) do
    if wait.clients[client_id] then
      lose_patience(wait)
    end
  end
end

local function open_slot(wait, client, buf)
  local now = vim.uv.now()
  servers.ask(client.id, buf)
  wait.open[slot(client.id, buf)] = {
    client_id = client.id,
    buf = buf,
    until_ = now + servers.patience(client.id, wait.ends - now),
  }
end

local function ask(wait, client, buf)
  servers.listen(client, buf)
  if lsp.supports(client, PULL, buf) then
    -- Without a handler of ours: the client's own one receives the response, and is observed.
    local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    if lsp.request(client, PULL, params, nil, buf) then
      wait.clients[client.id] = true
      open_slot(wait, client, buf)
    end
    return
  end
  wait.clients[client.id] = true
  lsp.flush(client, buf)
  if not servers.has_judged(client.id, buf) then
    open_slot(wait, client, buf)
  end
end

local function await_start(wait, buf)
  local starting = lsp.is_starting(buf)
  wait.open["starting:" .. buf] = starting and { buf = buf, until_ = wait.ends } or nil
end

---@param done fun(late: table<integer, table<integer, true>>)
---@param settle_ms? integer
---@return claude-ide.diagnostics.Wait
local function begin(ms, done, settle_ms)
  waits_made = waits_made + 1
  local now = vim.uv.now()
  ---@type claude-ide.diagnostics.Wait
  local wait = {
    open = {},
    clients = {},
    bufs = {},
    versions = {},
    done = done,
    began = now,
    ends = now + ms,
    deadline = timers.new("end a wait for diagnostics"),
    settle = timers.new("take diagnostics for settled"),
    settle_ms = settle_ms or SETTLE_MS,
    patience = timers.new("stop waiting for a language server"),
    group = vim.api.nvim_create_augroup("claude-ide.diagnostics.fresh." .. waits_made, { clear = true }),
  }
  waits[wait] = true
  wait.deadline:start(ms, function()
    finish(wait)
  end)
  return wait
end

---Servers without a current report, when there is no time to wait.
---@return table<integer, table<integer, true>> late
local function not_judged(bufs)
  local late = {}
  for _, buf in ipairs(bufs) do
    late[buf] = {}
    for _, client in ipairs(lsp.clients(buf)) do
      servers.listen(client, buf)
      late[buf][client.id] = not servers.has_judged(client.id, buf) or nil
    end
  end
  return late
end

---Calls back once every language server of these buffers has reported on the current text, or at the deadline; at once without servers.
---`late` has the clients that have not reported, by buffer.
---@param bufs integer[] changed or just loaded
---@param ms integer
---@param done fun(late: table<integer, table<integer, true>>)
---@param settle_ms? integer required silence after the last report
function M.wait(bufs, ms, done, settle_ms)
  local waiting = vim.tbl_filter(function(buf)
    return vim.api.nvim_buf_is_loaded(buf) and (#lsp.clients(buf) > 0 or lsp.is_starting(buf))
  end, bufs)
  if #waiting == 0 then
    return done({})
  elseif ms <= 0 then
    return done(not_judged(waiting))
  end
  servers.subscribe(published, worked)
  vim.uv.update_time()
  local wait = begin(ms, done, settle_ms)
  for _, buf in ipairs(waiting) do
    wait.bufs[buf] = true
    wait.versions[buf] = vim.lsp.util.buf_versions[buf]
    await_start(wait, buf)
    for _, client in ipairs(lsp.clients(buf)) do
      ask(wait, client, buf)
    end
  end
  vim.api.nvim_create_autocmd("LspAttach", {
    group = wait.group,
    desc = "A server that was starting can be waited for now",
    callback = function(event)
      local client = wait.bufs[event.buf] and vim.lsp.get_client_by_id(event.data.client_id)
      if client and wait.done then
        ask(wait, client, event.buf)
        await_start(wait, event.buf)
        lose_patience(wait)
      end
    end,
  })
  if next(wait.open) == nil and next(wait.clients) == nil then
    return finish(wait) -- none of them ever reports
  end
  lose_patience(wait)
end

return M
