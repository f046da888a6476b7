-- What is known of each language server: which texts it has judged, how long it takes, whether it works on something.
-- Listens by wrapping the handlers of its diagnostics, for as long as the client lives, so that it hears what servers
-- publish and also the answers to Neovim's own questions (Neovim withdraws other people's when it asks one).
local M = {}

local PUBLISH = "textDocument/publishDiagnostics"
local PULL = "textDocument/diagnostic"

---A server is waited for so many times as long as it took lately, and never less than the least: typescript-language-server (6.0)
---takes 0.4 s to tell of a second file.
local PATIENCE_FACTOR = 2.5
local LEAST_PATIENCE_MS = 600

---A server that has never spoken and let so many waits run out is hardly waited for any more.
local MAX_SILENCES = 2

---Who has known a file for so long, works on nothing and says nothing of it has nothing to say.
local LONG_KNOWN_MS = 3000

---Work that began longer ago has nothing to do with an edit of this moment: servers index for minutes, some never end.
local WORK_MS = 10000

---@class claude-ide.diagnostics.Server
---@field client_id integer
---@field listening boolean its handlers are wrapped
---@field spoken boolean it has published or answered at least once
---@field silences integer waits that ran out without a word, one after another
---@field patience? number milliseconds; nil: not known yet
---@field known_since table<integer, number> `vim.uv.now()`, by buffer
---@field judged table<integer, integer> version of the text that was judged last, by buffer
---@field asked table<integer, number> since when it owes a word, also where nobody waits any more, by buffer
---@field expected table<integer, true> buffers whose judgement something else than their text has made old
---@field work table<string|integer, number> when each of its tasks began

---@type table<integer, claude-ide.diagnostics.Server>
local servers = {}

---The handlers that are ours, so that none is wrapped twice.
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

---@param ms number that its answer took
local function took(server, ms)
  -- At once where it was slower than thought, by and by where it was quicker.
  local wanted = math.max(LEAST_PATIENCE_MS, ms * PATIENCE_FACTOR)
  server.patience = server.patience and math.max(wanted, server.patience * 0.7) or wanted
end

---@param version? integer of the text that the server judged
local function heard(client_id, buf, version)
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

---Forgets the servers that have ended.
local function prune()
  for client_id in pairs(servers) do
    if not vim.lsp.get_client_by_id(client_id) then
      servers[client_id] = nil
    end
  end
end

---Listens to a client from now on.
---@param client vim.lsp.Client
---@param buf? integer that it gets to know now; those that it had before it has known for long
function M.listen(client, buf)
  local server = get(client.id)
  if not server.listening then
    server.listening = true
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
      heard(context.client_id, vim.uri_to_bufnr(result.uri), version)
    end
  end)
  wrap(client, PULL, function(_, context)
    if context.bufnr then
      heard(context.client_id, context.bufnr, context.version) -- of the text that it was asked about
    end
  end)
end

---Who is told of each verdict, and of each end of a server's work.
---@param verdict claude-ide.diagnostics.OnVerdict
---@param work fun(client_id: integer)
function M.subscribe(verdict, work)
  on_verdict, on_work = verdict, work
end

---A server reports on its work (`$/progress`).
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

---Whether a server works on something that may have to do with an edit of this moment.
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

---Whether a server has ever said what it thinks of a file.
---@param client_id integer
---@return boolean
function M.has_spoken(client_id)
  return get(client_id).spoken
end

---How long to wait for a server, as far as it is known.
---@param client_id integer
---@param limit number milliseconds
---@return number
function M.patience(client_id, limit)
  local server = get(client_id)
  if not server.spoken and server.silences >= MAX_SILENCES then
    return math.min(limit, LEAST_PATIENCE_MS) -- one without diagnostics, as far as anybody knows
  end
  return math.min(limit, server.patience or limit)
end

---From now on a server owes its word on a buffer.
---@param client_id integer
---@param buf integer
function M.ask(client_id, buf)
  get(client_id).asked[buf] = vim.uv.now()
end

---A server was waited for as long as it usually takes, and said nothing: what it said before still holds.
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

---The time was up before a server said anything, and nobody knows whether it would have. What it said of this very text
---holds all the same: most servers do not repeat it where something else has changed.
---@param client_id integer
---@param buf integer
---@param waited number milliseconds
---@return boolean holds
function M.ran_out(client_id, buf, waited)
  local server = get(client_id)
  if M.is_working(client_id) then
    return false
  end
  server.silences = server.silences + (waited > 0 and 1 or 0)
  if server.spoken and waited > 0 and not server.patience then
    server.patience = math.max(LEAST_PATIENCE_MS, waited / 2)
  end
  return has_judged_text(server, buf)
end

---Something happened, on disk perhaps, that makes what the servers said of a buffer old.
---@param client_ids integer[]
---@param buf integer
function M.expect(client_ids, buf)
  for _, client_id in ipairs(client_ids) do
    get(client_id).expected[buf] = true
  end
end

---Whether something else than its text has made old what a server said of a buffer.
---@param client_id integer
---@param buf integer
---@return boolean
function M.is_expected(client_id, buf)
  return get(client_id).expected[buf] == true
end

---Whether a server has judged the present text of a buffer, and nothing has happened since.
---@param client_id integer
---@param buf integer
---@return boolean
function M.has_judged(client_id, buf)
  local server = get(client_id)
  return not server.expected[buf] and has_judged_text(server, buf)
end

---Whether a server has had its say on the present text of a buffer, be it by silence.
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

---A buffer was unloaded.
---@param buf integer
function M.forget_buffer(buf)
  for _, server in pairs(servers) do
    server.known_since[buf], server.judged[buf] = nil, nil
    server.asked[buf], server.expected[buf] = nil, nil
  end
end

---The server that a diagnostic comes from.
---@param namespace integer
---@param clients vim.lsp.Client[]
---@return integer? client_id nil: from something else than one of these servers
function M.author(namespace, clients)
  local known = vim.diagnostic.get_namespaces()[namespace]
  local name = known and known.name or ""
  for _, client in ipairs(clients) do
    -- "vim.lsp.NAME.ID", and since 0.12 "nvim.lsp.NAME.ID"; with a further part where the server is asked.
    local stem = (".lsp.%s.%d"):format(client.name, client.id)
    local first, last = name:find(stem, 1, true)
    if first and (last == #name or name:sub(last + 1, last + 1) == ".") then
      return client.id
    end
  end
end

return M
