-- State of each language server: which texts it has reported on, its latency, whether it is working.
-- Wraps the client's diagnostic handlers for its lifetime, to see both published diagnostics and responses to Neovim's own requests
-- (Neovim cancels requests of others when it sends one).
local M = {}

local PUBLISH = "textDocument/publishDiagnostics"
local PULL = "textDocument/diagnostic"

---Timeout as a multiple of the server's recent latency, and its minimum: typescript-language-server (6.0) takes 0.4 s to report on a
---second file.
local PATIENCE_FACTOR = 2.5
local LEAST_PATIENCE_MS = 600

---After this many timeouts a server that has never reported is hardly waited for.
local MAX_SILENCES = 2

---A server that has had a file for this long and is idle and silent has nothing to report.
local LONG_KNOWN_MS = 3000

---Work that started earlier is unrelated to a recent edit: servers index for minutes, some forever.
local WORK_MS = 10000

---@class claude-ide.diagnostics.Server
---@field client_id integer
---@field listening boolean handlers are wrapped
---@field spoken boolean it has reported at least once
---@field silences integer consecutive timeouts
---@field patience? number milliseconds; nil: unknown
---@field known_since table<integer, number> `vim.uv.now()`, by buffer
---@field judged table<integer, integer> version of the text it last reported on, by buffer
---@field asked table<integer, number> time of an unanswered request, by buffer, even if nothing waits for it
---@field expected table<integer, true> buffers whose report is outdated by something other than their text
---@field work table<string|integer, number> start of each of its tasks

---@type table<integer, claude-ide.diagnostics.Server>
local servers = {}

---Our handlers, so that none is wrapped twice.
---@type table<function, true>
local wrappers = setmetatable({}, { __mode = "k" })

---@alias claude-ide.diagnostics.OnVerdict fun(client_id: integer, buf: integer, version?: integer)

local on_verdict ---@type claude-ide.diagnostics.OnVerdict?
local on_work ---@type fun(client_id: integer)?

---@return claude-ide.diagnostics.Server
local function get(client_id)
  servers[client_id] = servers[client_id]
    or {
      client_id = client_id,
      listening = false,
      spoken = false,
      silences = 0,
      known_since = {},
      judged = {},
      asked = {},
      expected = {},
      work = {},
    }
  return servers[client_id]
end

local function version_of(buf)
  return vim.lsp.util.buf_versions[buf] or 0
end

---@param ms number latency
local function took(server, ms)
  -- Increases at once, decreases gradually.
  local wanted = math.max(LEAST_PATIENCE_MS, ms * PATIENCE_FACTOR)
  server.patience = server.patience and math.max(wanted, server.patience * 0.7) or wanted
end

---@param version? integer of the text reported on
local function published(client_id, buf, version)
  local server = get(client_id)
  server.spoken, server.silences = true, 0
  if not version or version >= version_of(buf) then
    if server.asked[buf] then
      took(server, vim.uv.now() - server.asked[buf])
    end
    server.judged[buf] = version or version_of(buf)
    server.expected[buf], server.asked[buf] = nil, nil
  end
  if on_verdict then
    on_verdict(client_id, buf, version)
  end
end

---@param after fun(result: any, context: table)
local function wrap(client, method, after)
  local own = client.handlers[method]
  if own and wrappers[own] then
    return
  end
  local function wrapper(err, result, context, ...)
    local handler = own or vim.lsp.handlers[method]
    local returned = handler and handler(err, result, context, ...)
    if not err and type(result) == "table" then
      after(result, context)
    end
    return returned
  end
  wrappers[wrapper] = true
  client.handlers[method] = wrapper
end

local function prune()
  for client_id in pairs(servers) do
    if not vim.lsp.get_client_by_id(client_id) then
      servers[client_id] = nil
    end
  end
end

---Whether a client has reported something before it was observed. That it has a namespace is no sign: Neovim 0.12 makes one for each.
---@param client vim.lsp.Client
---@return boolean
local function has_diagnostics(client)
  for namespace in pairs(vim.diagnostic.get_namespaces()) do
    if M.author(namespace, { client }) and #vim.diagnostic.get(nil, { namespace = namespace }) > 0 then
      return true
    end
  end
  return false
end

---Starts observing a client.
---@param client vim.lsp.Client
---@param buf? integer just attached; other attached buffers count as long known
function M.listen(client, buf)
  local server = get(client.id)
  if not server.listening then
    server.listening = true
    server.spoken = server.spoken or has_diagnostics(client)
    prune()
    for attached in pairs(client.attached_buffers or {}) do
      server.known_since[attached] = attached ~= buf and -math.huge or nil
    end
  end
  if buf then
    server.known_since[buf] = server.known_since[buf] or vim.uv.now()
  end
  wrap(client, PUBLISH, function(result, context)
    if type(result.uri) == "string" then
      local version = type(result.version) == "number" and result.version --[[@as integer]] or nil
      published(context.client_id, vim.uri_to_bufnr(result.uri), version)
    end
  end)
  wrap(client, PULL, function(_, context)
    if context.bufnr then
      published(context.client_id, context.bufnr, context.version) -- of the requested version
    end
  end)
end

---Sets the callbacks for reports, and for the end of a server's work.
---@param verdict claude-ide.diagnostics.OnVerdict
---@param work fun(client_id: integer)
function M.subscribe(verdict, work)
  on_verdict, on_work = verdict, work
end

---Handles `$/progress`.
---@param client_id integer
---@param params? { token?: string|integer, value?: { kind?: string } }
function M.progress(client_id, params)
  local token, value = params and params.token, params and params.value
  if token == nil or type(value) ~= "table" then
    return
  end
  local work = get(client_id).work
  if value.kind == "begin" then
    work[token] = vim.uv.now()
  elseif value.kind == "end" then
    work[token] = nil
    if on_work then
      on_work(client_id)
    end
  end
end

---Whether a server does work that may be related to a recent edit.
---@param client_id integer
---@return boolean
function M.is_working(client_id)
  local now = vim.uv.now()
  for _, began in pairs(get(client_id).work) do
    if now - began < WORK_MS then
      return true
    end
  end
  return false
end

---Whether a server has ever reported.
---@param client_id integer
---@return boolean
function M.has_spoken(client_id)
  return get(client_id).spoken
end

---How long to wait for a server.
---@param client_id integer
---@param limit number milliseconds
---@return number
function M.patience(client_id, limit)
  local server = get(client_id)
  if not server.spoken and server.silences >= MAX_SILENCES then
    return math.min(limit, LEAST_PATIENCE_MS) -- probably a server without diagnostics
  end
  return math.min(limit, server.patience or limit)
end

---Marks a request to a server for a buffer.
---@param client_id integer
---@param buf integer
function M.ask(client_id, buf)
  get(client_id).asked[buf] = vim.uv.now()
end

---A server has not reported within its usual latency: its last report is still valid.
---@param client_id integer
---@param buf integer
---@param waited number milliseconds
function M.kept_silent(client_id, buf, waited)
  local server = get(client_id)
  if server.spoken then
    server.patience = math.max(LEAST_PATIENCE_MS, waited / 2)
    server.judged[buf] = version_of(buf)
    server.expected[buf] = nil
  end
end

local function has_judged_text(server, buf)
  return server.judged[buf] ~= nil and server.judged[buf] >= version_of(buf)
end

---The deadline passed before a server reported. Its last report on the same text is still valid: most servers do not repeat it when
---something else changes.
---@param client_id integer
---@param buf integer
---@param waited number milliseconds
---@return boolean holds
function M.ran_out(client_id, buf, waited)
  local server = get(client_id)
  if M.is_working(client_id) then
    return false
  end
  server.silences = server.silences + 1
  if server.spoken and not server.patience then
    server.patience = math.max(LEAST_PATIENCE_MS, waited / 2)
  end
  return has_judged_text(server, buf)
end

---Marks reports on a buffer as outdated, for example by a change on disk.
---@param client_ids integer[]
---@param buf integer
function M.expect(client_ids, buf)
  for _, client_id in ipairs(client_ids) do
    get(client_id).expected[buf] = true
  end
end

---Whether a server's report is outdated by something other than the text.
---@param client_id integer
---@param buf integer
---@return boolean
function M.is_expected(client_id, buf)
  return get(client_id).expected[buf] == true
end

---Whether a server has reported on the buffer's current text, and the report is not outdated.
---@param client_id integer
---@param buf integer
---@return boolean
function M.has_judged(client_id, buf)
  local server = get(client_id)
  return not server.expected[buf] and has_judged_text(server, buf)
end

---Whether a server has reported on the buffer's current text, or was silent for long enough.
---@param client_id integer
---@param buf integer
---@return boolean
function M.is_settled(client_id, buf)
  local server = get(client_id)
  if has_judged_text(server, buf) then
    return true
  end
  local since = server.known_since[buf]
  return since ~= nil and vim.uv.now() - since >= LONG_KNOWN_MS and not M.is_working(client_id)
end

---@param buf integer
function M.forget_buffer(buf)
  for _, server in pairs(servers) do
    server.known_since[buf], server.judged[buf] = nil, nil
    server.asked[buf], server.expected[buf] = nil, nil
  end
end

---The client of a diagnostic's namespace.
---@param namespace integer
---@param clients vim.lsp.Client[]
---@return integer? client_id nil: not from these clients
function M.author(namespace, clients)
  local known = vim.diagnostic.get_namespaces()[namespace]
  local name = known and known.name or ""
  for _, client in ipairs(clients) do
    -- "vim.lsp.NAME.ID", since 0.12 "nvim.lsp.NAME.ID"; with a suffix for pulled diagnostics.
    local stem = (".lsp.%s.%d"):format(client.name, client.id)
    local _, last = name:find(stem, 1, true)
    if last and (last == #name or name:sub(last + 1, last + 1) == ".") then
      return client.id
    end
  end
end

return M
