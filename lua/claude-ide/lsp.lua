-- Neovim's language server clients, with one interface over 0.10 to 0.12.
local M = {}

local HAS_METHODS = vim.fn.has("nvim-0.11") == 1

---The clients of a buffer. With a method, those that serve it.
---@param buf integer
---@param method? string
---@return vim.lsp.Client[]
function M.clients(buf, method)
  return vim.lsp.get_clients({
    bufnr = buf,
    method = method --[[@as any]],
  })
end

---Whether a client was started for a buffer and has not finished its handshake.
---@param buf integer
---@return boolean
function M.is_starting(buf)
  -- Neovim's own way to see those that are not ready; where it went, nobody is starting.
  local ok, all = pcall(vim.lsp.get_clients, { bufnr = buf, _uninitialized = true })
  return ok and #all > #M.clients(buf)
end

---@param client vim.lsp.Client
---@param method string
---@param buf integer
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
---@param handler fun(err: table?, result: any, context: table)
---@param buf integer
---@return integer? request_id nil where it could not be sent
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

---Sends a buffer's changes to a client now, not after the 150 ms that Neovim waits for more typing.
---@param client vim.lsp.Client
---@param buf integer
function M.flush(client, buf)
  -- Not documented; where it went, the server only hears of the change a little later.
  local ok, tracking = pcall(require, "vim.lsp._changetracking")
  if ok and type(tracking.flush) == "function" then
    pcall(tracking.flush, client, buf)
  end
end

return M
