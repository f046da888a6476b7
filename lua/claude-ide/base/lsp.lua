-- Neovim's language server clients, with one interface over 0.10 to 0.12.
local M = {}

local HAS_METHODS = vim.fn.has("nvim-0.11") == 1

---Name of our own clients (outbox/code_action.lua), which no function here returns.
M.OWN = "claude-ide"

---The clients of language servers.
---@param filter? vim.lsp.get_clients.Filter
---@return vim.lsp.Client[]
function M.all(filter)
  if not package.loaded["vim.lsp"] then
    return {} -- no server runs, and loading it is slow
  end
  return vim.tbl_filter(function(client)
    return client.name ~= M.OWN
  end, vim.lsp.get_clients(filter))
end

---The clients of a buffer, optionally only those that support a method.
---@param buf integer
---@param method? string
---@return vim.lsp.Client[]
function M.clients(buf, method)
  return M.all({
    bufnr = buf,
    method = method --[[@as any]],
  })
end

---Whether a client of the buffer has not finished its handshake.
---@param buf integer
---@return boolean
function M.is_starting(buf)
  -- Undocumented option; without it no client counts as starting.
  local ok, all = pcall(M.all, { bufnr = buf, _uninitialized = true })
  return ok and #all > #M.clients(buf)
end

---@param client vim.lsp.Client
---@param method string
---@param buf? integer
---@return boolean
function M.supports(client, method, buf)
  if HAS_METHODS then
    return client:supports_method(method --[[@as any]], buf) == true
  end
  ---@diagnostic disable-next-line: param-type-mismatch
  return client.supports_method(method, { bufnr = buf }) == true
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param handler? fun(err: table?, result: any, context: table) nil: the client's
---@param buf integer
---@return integer? request_id nil: not sent
function M.request(client, method, params, handler, buf)
  local sent, id
  if HAS_METHODS then
    sent, id = client:request(method --[[@as any]], params, handler, buf)
  else
    ---@diagnostic disable-next-line: param-type-mismatch
    sent, id = client.request(method, params, handler, buf)
  end
  return sent and (id or 0) or nil
end

---Sends a buffer's changes to a client now, without Neovim's debounce of 150 ms.
---@param client vim.lsp.Client
---@param buf integer
function M.flush(client, buf)
  -- Undocumented; without it the server is notified a little later.
  local ok, tracking = pcall(require, "vim.lsp._changetracking")
  if ok and type(tracking.flush) == "function" then
    pcall(tracking.flush, client, buf)
  end
end

---@param client vim.lsp.Client
---@param method string
---@param params table
function M.notify(client, method, params)
  if HAS_METHODS then
    client:notify(method --[[@as any]], params)
  else
    ---@diagnostic disable-next-line: param-type-mismatch
    client.notify(method, params)
  end
end

---A server's `textDocumentSync.save`.
---@return { includeText?: boolean }? options nil: no notifications
local function save_options(client)
  local sync = (client.server_capabilities or {}).textDocumentSync
  local save = type(sync) == "table" and sync.save
  if type(save) == "table" then
    return save
  end
  return save == true and {} or nil
end

---Notifies the servers of a buffer that its file was saved, though not by Neovim: some check only then (rust-analyzer's `cargo
---check`).
---LSP 3.17, "textDocument/didSave".
---@param buf integer unmodified, in sync with its file
function M.saved(buf)
  for _, client in ipairs(M.clients(buf)) do
    local save = save_options(client)
    if save then
      M.flush(client, buf)
      M.notify(client, "textDocument/didSave", {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        text = save.includeText and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n") .. "\n"
          or nil,
      })
    end
  end
end

---LSP 3.17, FileChangeType.
---@enum claude-ide.lsp.FileChange
M.FileChange = { created = 1, changed = 2, deleted = 3 }

---Notifies all servers of created, changed or deleted files, also servers of other folders, whose files may import them. Neovim watches
---files only if a server requests it, and by default not on Linux.
---LSP 3.17, "workspace/didChangeWatchedFiles".
---@param changes table<string, claude-ide.lsp.FileChange> by absolute path
---@return integer[] clients that were notified
function M.files_changed(changes)
  local notified = {}
  if next(changes) == nil or not package.loaded["vim.lsp"] then
    return notified
  end
  local events = {}
  for path, change in vim.spairs(changes) do
    events[#events + 1] = { uri = vim.uri_from_fname(path), type = change }
  end
  for _, client in ipairs(M.all()) do
    M.notify(client, "workspace/didChangeWatchedFiles", { changes = events })
    notified[#notified + 1] = client.id
  end
  return notified
end

return M
