-- Waits until language servers have said what they think of a text that just changed.
-- Invariant: every wait ends, at the latest at its deadline. A server that never speaks is not waited for again.
local M = {}

local PUBLISH = "textDocument/publishDiagnostics"
local PULL = "textDocument/diagnostic"

---After the last word: some servers publish syntax errors first and type errors a moment later.
local SETTLE_MS = 40

---A server that has never published and let so many waits run out is one without diagnostics.
local MAX_SILENCES = 2

---@type table<integer, true> clients that have published at least once
local spoken = {}
---@type table<integer, integer> waits that ran out without a word, by client
local silences = {}

---@class claude-ide.diagnostics.Wait
---@field open table<string, true> what is waited for: "<client>:<buffer>"
---@field bufs table<integer, true>
---@field versions table<integer, integer> of the texts that the servers are to judge
---@field done? fun()
---@field deadline uv.uv_timer_t
---@field settle uv.uv_timer_t
---@field group integer

---@type table<claude-ide.diagnostics.Wait, true>
local waits = {}

---The handlers that are ours, so that none is wrapped twice.
---@type table<function, true>
local wrappers = setmetatable({}, { __mode = "k" })

local waits_made = 0

---@param client_id integer
---@param buf integer
local function slot(client_id, buf)
  return client_id .. ":" .. buf
end

---@param wait claude-ide.diagnostics.Wait
local function finish(wait)
  local done = wait.done
  if not done then
    return
  end
  wait.done, waits[wait] = nil, nil
  wait.deadline:close()
  wait.settle:close()
  vim.api.nvim_del_augroup_by_id(wait.group)
  done()
end

---@param wait claude-ide.diagnostics.Wait
local function check(wait)
  if not wait.done then
    return
  end
  wait.settle:stop()
  if next(wait.open) == nil then
    wait.settle:start(
      SETTLE_MS,
      0,
      vim.schedule_wrap(function()
        if wait.done and next(wait.open) == nil then
          finish(wait)
        end
      end)
    )
  end
end

---@param client_id integer
---@param buf integer
---@param version? integer of the text that the server judged
local function heard(client_id, buf, version)
  spoken[client_id], silences[client_id] = true, nil
  for wait in pairs(waits) do
    if wait.bufs[buf] and not (version and wait.versions[buf] and version < wait.versions[buf]) then
      wait.open[slot(client_id, buf)] = nil
      check(wait)
    end
  end
end

---Listens to what one client publishes, by wrapping its handler for as long as the client lives.
---@param client vim.lsp.Client
local function listen(client)
  local own = client.handlers[PUBLISH]
  if own and wrappers[own] then
    return
  end
  local function wrapper(err, result, context, ...)
    local handler = own or vim.lsp.handlers[PUBLISH]
    local returned = handler(err, result, context, ...)
    if type(result) == "table" and type(result.uri) == "string" then
      local version = type(result.version) == "number" and result.version --[[@as integer]] or nil
      heard(context.client_id, vim.uri_to_bufnr(result.uri), version)
    end
    return returned
  end
  wrappers[wrapper] = true
  client.handlers[PUBLISH] = wrapper
end

---@param wait claude-ide.diagnostics.Wait
---@param client vim.lsp.Client
---@param buf integer
local function ask(wait, client, buf)
  local lsp = require("claude-ide.lsp")
  listen(client)
  if lsp.supports(client, PULL, buf) then
    local key = slot(client.id, buf)
    local function answered(err, result, context)
      local handler = client.handlers[PULL] or vim.lsp.handlers[PULL]
      if handler then
        pcall(handler, err, result, context)
      end
      wait.open[key] = nil
      check(wait)
    end
    local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    if lsp.request(client, PULL, params, answered, buf) then
      wait.open[key] = true
    end
    return
  end
  if not spoken[client.id] and (silences[client.id] or 0) >= MAX_SILENCES then
    return
  end
  wait.open[slot(client.id, buf)] = true
  lsp.flush(client, buf)
end

---Calls back once every language server of these buffers has judged their present text, or the time is up. At once where
---there is no server to wait for.
---@param bufs integer[] whose text just changed or was just loaded
---@param ms integer
---@param done fun()
function M.wait(bufs, ms, done)
  local lsp = require("claude-ide.lsp")
  local waiting = vim.tbl_filter(function(buf)
    return vim.api.nvim_buf_is_loaded(buf) and (#lsp.clients(buf) > 0 or lsp.is_starting(buf))
  end, bufs)
  if #waiting == 0 or ms <= 0 then
    return done()
  end
  waits_made = waits_made + 1
  ---@type claude-ide.diagnostics.Wait
  local wait = {
    open = {},
    bufs = {},
    versions = {},
    done = done,
    deadline = assert(vim.uv.new_timer()),
    settle = assert(vim.uv.new_timer()),
    group = vim.api.nvim_create_augroup("claude-ide.diagnostics.fresh." .. waits_made, { clear = true }),
  }
  waits[wait] = true
  wait.deadline:start(
    ms,
    0,
    vim.schedule_wrap(function()
      for key in pairs(wait.open) do
        local client_id = tonumber(key:match("^%d+")) --[[@as integer?]]
        if client_id then
          silences[client_id] = (silences[client_id] or 0) + 1
        end
      end
      finish(wait)
    end)
  )
  for _, buf in ipairs(waiting) do
    wait.bufs[buf] = true
    wait.versions[buf] = vim.lsp.util.buf_versions[buf]
    if lsp.is_starting(buf) then
      wait.open["starting:" .. buf] = true
    end
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
        wait.open["starting:" .. event.buf] = lsp.is_starting(event.buf) or nil
        check(wait)
      end
    end,
  })
  if next(wait.open) == nil then
    finish(wait) -- none of them ever speaks
  end
end

---Listens to a client from its first buffer on, so that it is known to speak.
---@param client_id integer
function M.meet(client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  if client then
    listen(client)
  end
end

---Forgets a client that is gone.
---@param client_id integer
function M.forget(client_id)
  spoken[client_id], silences[client_id] = nil, nil
end

return M
