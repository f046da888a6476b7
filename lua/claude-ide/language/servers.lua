-- Finds language servers for a buffer, and waits for those that are starting or loading the project.
-- Invariant: every wait has a deadline, and the client gets progress reports.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local lsp = lazy("claude-ide.base.lsp")

local M = {}

local LOOK_MS = 20

---Some servers start a moment after the file is opened, or register capabilities later.
local GRACE_MS = 1500

local TELL_MS = 1000

---@param clients vim.lsp.Client[]
---@return string
function M.names(clients)
  return table.concat(
    vim.tbl_map(function(client)
      return client.name
    end, clients),
    ", "
  )
end

---@param done fun(): any the result; nil: not yet
---@param may_come fun(elapsed: integer): boolean whether to keep waiting
local function wait(task, done, may_come, message)
  local began = vim.uv.now()
  local limit = config.get().tools.server_wait_ms
  local reported_at = -math.huge
  while true do
    local found = done()
    vim.uv.update_time()
    local elapsed = vim.uv.now() - began
    if found or elapsed >= limit or not may_come(elapsed) then
      return found
    end
    if elapsed - reported_at >= TELL_MS then
      reported_at = elapsed
      task:progress(elapsed < TELL_MS and message or ("%s, %d s"):format(message, elapsed / 1000))
    end
    task:sleep(LOOK_MS)
  end
end

---Waits for clients of a buffer that support a method. If there will be none: an empty list and a reason.
---@param task claude-ide.language.Task
---@param buf integer
---@param method string
---@param doing string for the reason: "find references"
---@return vim.lsp.Client[]
---@return string? why_not
function M.wait(task, buf, method, doing)
  local found = wait(task, function()
    local clients = vim.tbl_filter(function(client)
      return lsp.supports(client, method, buf)
    end, vim.api.nvim_buf_is_valid(buf) and lsp.clients(buf) or {})
    return #clients > 0 and clients or nil
  end, function(elapsed)
    return vim.api.nvim_buf_is_valid(buf) and (lsp.is_starting(buf) or elapsed < GRACE_MS)
  end, "Waiting for the language server")
  if found then
    return found
  end
  local attached = vim.api.nvim_buf_is_valid(buf) and lsp.clients(buf) or {}
  local file =
    vim.fs.basename(vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_name(buf) or "the file")
  if #attached > 0 then
    return {}, ("%s cannot %s"):format(M.names(attached), doing)
  elseif vim.api.nvim_buf_is_valid(buf) and lsp.is_starting(buf) then
    return {}, ("the language server of %s is still starting; try again later"):format(file)
  end
  return {}, ("no language server of the editor is attached to %s, so it cannot %s"):format(file, doing)
end

---`wait`, but fails the task if there will be none.
---@param task claude-ide.language.Task
---@param buf integer
---@param method string
---@param doing string
---@return vim.lsp.Client[]
function M.need(task, buf, method, doing)
  local clients, why_not = M.wait(task, buf, method, doing)
  return why_not and task:fail(why_not) or clients
end

---@param client vim.lsp.Client
---@return boolean busy whether it reports progress (`$/progress`)
function M.is_busy(client)
  local progress = client.progress
  local pending = type(progress) == "table" and progress.pending
  return type(pending) == "table" and next(pending) ~= nil
end

---Waits while a server reports progress, such as loading the project: it may find more afterwards.
---@param task claude-ide.language.Task
---@param clients vim.lsp.Client[]
---@return boolean waited
function M.settle(task, clients)
  local function busy()
    return vim.tbl_filter(function(client)
      return vim.lsp.get_client_by_id(client.id) ~= nil and M.is_busy(client)
    end, clients)
  end
  local first = busy()
  if #first == 0 then
    return false
  end
  wait(task, function()
    return #busy() == 0 or nil
  end, function()
    return true
  end, M.names(first) .. " is reading the project")
  return true
end

return M
