-- Detects whether a language server has loaded the project: until then it answers with incomplete results, without saying so.
-- Invariant: every wait ends, and a server that has been ready for long is not waited for.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local diagnostics_servers = lazy("claude-ide.language.diagnostics.servers")
local disk = lazy("claude-ide.editor.buffer.disk")
local language_servers = lazy("claude-ide.language.servers")
local lsp = lazy("claude-ide.base.lsp")

local M = {}

---A server started so recently may still discover files.
M.YOUNG_MS = 30000
local AGAIN_MS, READING_AGAIN_MS, MAX_ROUNDS = 1000, 500, 8

---Maximum wait for a server to load the project.
local READY_MS, LOOK_MS = 15000, 50
---A server that is idle and silent for this long counts as ready.
local SILENT_MS = 3000

---When each server was first seen, by `vim.uv.now()`.
---@type table<integer, integer>
local seen = {}

---Servers that gave the same answer twice while young.
---@type table<integer, true>
local steady = {}

---@return integer ms since it was first seen
local function age(client_id)
  vim.uv.update_time()
  seen[client_id] = seen[client_id] or vim.uv.now()
  return vim.uv.now() - seen[client_id]
end

---Starts recording when servers are started. The age of running ones is unknown.
function M.attach()
  vim.api.nvim_create_autocmd("LspAttach", {
    group = vim.api.nvim_create_augroup("claude-ide.language.ready", { clear = true }),
    desc = "Claude: record when language servers start",
    callback = function(event)
      age(event.data.client_id)
    end,
  })
  for _, client in ipairs(lsp.all()) do
    age(client.id)
  end
end

---@return boolean whether it has been idle and silent for long
local function is_silent(client)
  return age(client.id) >= SILENT_MS and not diagnostics_servers.is_working(client.id)
end

---Whether a server of the buffer may publish diagnostics.
---@param buf integer
---@return boolean
function M.speaks_of(buf)
  return vim.iter(lsp.clients(buf)):any(function(client)
    return diagnostics_servers.has_spoken(client.id) or not is_silent(client)
  end) or lsp.is_starting(buf)
end

---Waits until servers know the project: before a server has reported on the file, it may know no other file.
---(typescript-language-server answers from a syntax server while it loads.)
---@param task claude-ide.language.Task
---@param clients vim.lsp.Client[]
---@param buf integer
function M.settle(task, clients, buf)
  local function is_ready()
    return not vim.iter(clients):any(function(client)
      return vim.lsp.get_client_by_id(client.id) ~= nil
        and not diagnostics_servers.has_judged(client.id, buf)
        and not is_silent(client)
    end)
  end
  language_servers.settle(task, clients)
  if not is_ready() then
    task:progress("Waiting for the language server to read the project")
    local began = vim.uv.now()
    local limit = math.min(READY_MS, config.get().tools.server_wait_ms)
    repeat
      task:sleep(LOOK_MS)
    until is_ready() or vim.uv.now() - began > limit
    language_servers.settle(task, clients) ---@diagnostic disable-line: undefined-field -- it takes the loop for endless
  end
end

---Sends a request, repeatedly for a young server until it gives the same answer twice: while it loads the project, its answers are
---incomplete.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
---@param buf integer
---@param ask fun(): any, string?
---@param is_reading? boolean the answer changes nothing: trust a server that was steady once
---@return any result
---@return string? err
---@return boolean is_partial it is still loading
function M.steady(task, client, buf, ask, is_reading)
  task:await(function(resume) -- the server must know what Claude has just written to disk
    disk.reload_all(vim.tbl_keys(client.attached_buffers or {}), function()
      resume()
    end)
  end)
  M.settle(task, { client }, buf)
  local result, err = ask()
  local is_same = not (age(client.id) <= M.YOUNG_MS) or is_reading and steady[client.id] == true
  for _ = 1, MAX_ROUNDS do
    if err or is_same then
      break
    end
    local before = result
    task:sleep(is_reading and READING_AGAIN_MS or AGAIN_MS)
    local waited = language_servers.settle(task, { client })
    result, err = ask()
    is_same = not waited and vim.deep_equal(before, result)
    steady[client.id] = is_same or nil
  end
  return result, err, not is_same or language_servers.is_busy(client)
end

return M
