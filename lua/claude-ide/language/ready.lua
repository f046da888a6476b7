-- Whether a language server knows the project yet: one that still reads it answers with a part of what it would say then, and tells
-- nobody so.
-- Invariant: every wait ends, and one that has been ready for long is not waited for.
local M = {}

---A server that was started so recently may still find out about files of the project.
M.YOUNG_MS = 30000
local AGAIN_MS, READING_AGAIN_MS, MAX_ROUNDS = 1000, 500, 8

---How long a server has to read the project before it is believed.
local READY_MS, LOOK_MS = 15000, 50
---One that works on nothing and has said nothing for so long has nothing to say.
local SILENT_MS = 3000

---When each server was first seen, in `vim.uv.now()` time.
---@type table<integer, integer>
local seen = {}

---Those that have said the same twice while they were young.
---@type table<integer, true>
local steady = {}

local function known()
  return require("claude-ide.diagnostics.servers")
end

---@return integer ms since it was first seen
local function age(client_id)
  vim.uv.update_time()
  seen[client_id] = seen[client_id] or vim.uv.now()
  return vim.uv.now() - seen[client_id]
end

---Follows from now on which servers are started. How long those run that are there already is not known.
function M.attach()
  vim.api.nvim_create_autocmd("LspAttach", {
    group = vim.api.nvim_create_augroup("claude-ide.language.ready", { clear = true }),
    desc = "Claude: know which language servers have just been started",
    callback = function(event)
      age(event.data.client_id)
    end,
  })
  for _, client in ipairs(package.loaded["vim.lsp"] and vim.lsp.get_clients() or {}) do
    age(client.id)
  end
end

---@return boolean whether it works on nothing, and has been seen for long without a word
local function is_silent(client)
  return age(client.id) >= SILENT_MS and not known().is_working(client.id)
end

---Whether a server of a buffer publishes diagnostics, as far as is known.
---@param buf integer
---@return boolean
function M.speaks_of(buf)
  return vim.iter(require("claude-ide.lsp").clients(buf)):any(function(client)
    return known().has_spoken(client.id) or not is_silent(client)
  end) or require("claude-ide.lsp").is_starting(buf)
end

---Waits until servers know the project: one that has said nothing of the file yet may know no other file, and what it would
---answer then is a part of it. (typescript-language-server answers from a syntax server while it loads.)
---@param task claude-ide.language.Task
---@param clients vim.lsp.Client[]
---@param buf integer
function M.settle(task, clients, buf)
  local servers = require("claude-ide.language.servers")
  local function is_ready()
    return not vim.iter(clients):any(function(client)
      return vim.lsp.get_client_by_id(client.id) ~= nil
        and not known().has_judged(client.id, buf)
        and not is_silent(client)
    end)
  end
  servers.settle(task, clients)
  if not is_ready() then
    task:progress("Waiting for the language server to read the project")
    local began = vim.uv.now()
    local limit = math.min(READY_MS, require("claude-ide.config").get().tools.server_wait_ms)
    repeat
      task:sleep(LOOK_MS)
    until is_ready() or vim.uv.now() - began > limit
    servers.settle(task, clients) ---@diagnostic disable-line: undefined-field -- it takes the loop for endless
  end
end

---Asks a server; one that was just started again and again, until it says the same twice: while it reads the project it may
---know a part of what it would know then, and says so to nobody.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
---@param buf integer
---@param ask fun(): any, string?
---@param is_reading? boolean nothing is changed by what it says: one that was steady once is believed
---@return any result
---@return string? err
---@return boolean is_partial it still reads the project
function M.steady(task, client, buf, ask, is_reading)
  task:await(function(resume) -- what Claude has just written beside us is to be what the server knows
    require("claude-ide.buffer.disk").reload_all(vim.tbl_keys(client.attached_buffers or {}), function()
      resume()
    end)
  end)
  M.settle(task, { client }, buf)
  local servers = require("claude-ide.language.servers")
  local result, err = ask()
  local is_same = not (age(client.id) <= M.YOUNG_MS) or is_reading and steady[client.id] == true
  for _ = 1, MAX_ROUNDS do
    if err or is_same then
      break
    end
    local before = result
    task:sleep(is_reading and READING_AGAIN_MS or AGAIN_MS)
    local waited = servers.settle(task, { client })
    result, err = ask()
    is_same = not waited and vim.deep_equal(before, result)
    steady[client.id] = is_same or nil
  end
  return result, err, not is_same or servers.is_busy(client)
end

return M
