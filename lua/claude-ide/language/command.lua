-- Runs a language server's command for a model, and collects the edits that the server requests meanwhile (`workspace/applyEdit`).
-- The protocol ties no edit to a command: of several that run, the oldest is meant; of none, the last, for a while.
-- Invariants: no edit of a model's command reaches a buffer; edits of the user's own commands reach the client's own handler; an edit that
-- nobody waits for any more is refused, and the user is told.
-- LSP 3.17, "workspace/executeCommand", "workspace/applyEdit".
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local language_request = lazy("claude-ide.language.request")
local notice = lazy("claude-ide.base.notice")
local servers = lazy("claude-ide.language.servers")

local M = {}

local METHOD, EDIT = "workspace/executeCommand", "workspace/applyEdit"

---How long after the response the first edit is waited for, and a further one.
local FIRST_MS, NEXT_MS = 1000, 100
local LOOK_MS = 25

---How long commands are waited for that are not this call's.
local OTHERS_MS = 3000

---How long after its end, or its withdrawal, a command may still send edits.
M.LATE_MS = 10000

---@class claude-ide.language.Run
---@field task claude-ide.language.Task
---@field command string
---@field ids table<integer, true> of its requests
---@field edits table[]
---@field changed integer `vim.uv.now()` of the last edit, or of the response
---@field over? integer `vim.uv.now()` when it was answered or withdrawn
---@field overtaken boolean another command was sent after it
---@field done boolean its edits were taken

---@type table<integer, claude-ide.language.Run> the last one, by client
local runs = {}

---Requests that are not waited for any more, by client: of commands that are over, and of the user's that take long. Some servers within
---Neovim never report that a request has ended.
---@type table<integer, table<integer, true>>
local lost = {}

---@type table<function, true>
local handlers = setmetatable({}, { __mode = "k" })

---@param run claude-ide.language.Run
local function may_send(run)
  return not run.over or vim.uv.now() - run.over < M.LATE_MS
end

---Commands that are not answered.
---@param client vim.lsp.Client
---@return integer[] ids oldest first
local function pending(client)
  local run, ids = runs[client.id], {}
  for id, request in pairs(client.requests or {}) do
    local is_ours = run and run.ids[id]
    local is_over = (lost[client.id] or {})[id] or is_ours and run and (run.done or not may_send(run))
    ids[#ids + 1] = request.method == METHOD and not is_over and id or nil
  end
  table.sort(ids)
  return ids
end

---@param client vim.lsp.Client
---@return claude-ide.language.Run? run whose edit comes now; nil: it is none of a model's
local function sender(client)
  local run = runs[client.id]
  local first = run and pending(client)[1]
  if first and run then
    return run.ids[first] and run or nil
  end
  return run and may_send(run) and not run.overtaken and run or nil
end

---@param client vim.lsp.Client
local function observe(client)
  local own = client.handlers[EDIT]
  if own and handlers[own] then
    return
  end
  local function handler(err, params, context, ...)
    local run = sender(client)
    local edit = type(params) == "table" and params.edit
    if not run or not edit then
      local handle = own or vim.lsp.handlers[EDIT]
      return handle(err, params, context, ...)
    elseif run.task.ended or run.done then
      local why = ("the command %s of Claude's is over"):format(run.command)
      notice.warn(("An edit of %s was not applied: %s."):format(client.name, why))
      return { applied = false, failureReason = why }
    end
    run.edits[#run.edits + 1] = edit
    run.changed = vim.uv.now()
    return { applied = true }
  end
  handlers[handler] = true
  client.handlers[EDIT] = handler
end

---Follows commands: ours that are answered or withdrawn, others that are sent.
local function follow()
  vim.api.nvim_create_autocmd("LspRequest", {
    group = vim.api.nvim_create_augroup("claude-ide.language.command", { clear = true }),
    desc = "Claude: note whose command of a language server runs",
    callback = function(event)
      local data = event.data
      local run = runs[data.client_id]
      if not run or data.request.method ~= METHOD then
        return
      elseif run.ids[data.request_id] then
        run.over = data.request.type ~= "pending" and vim.uv.now() or nil
      elseif data.request.type == "pending" then
        vim.schedule(function() -- by then it is known to be ours, if it is
          run.overtaken = run.overtaken or not run.ids[data.request_id]
        end)
      end
    end,
  })
end

---Waits for the commands of other calls, and for those of the user's, whose edits would be taken for this one's.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
local function wait_for_turn(task, client)
  local limit = config.get().tools.request_timeout_ms
  local began = vim.uv.now()
  while true do
    local run, ids = runs[client.id], pending(client)
    local is_taken = run and not run.done and not run.task.ended
    local elapsed = vim.uv.now() - began
    if is_taken and elapsed > limit then
      task:fail(("%s still runs another command"):format(client.name))
    elseif not is_taken and (#ids == 0 or elapsed > OTHERS_MS) then
      lost[client.id] = lost[client.id] or {}
      for _, id in ipairs(vim.list_extend(ids, vim.tbl_keys(run and run.ids or {}))) do
        lost[client.id][id] = true
      end
      return
    end
    task:sleep(LOOK_MS)
  end
end

---Executes a command, and collects the edits that the server requests. Fails the task if the server does.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
---@param buf integer
---@param command { command: string, arguments?: any[] }
---@return table[] edits
function M.run(task, client, buf, command)
  wait_for_turn(task, client)
  for id in pairs(runs) do
    local is_there = vim.lsp.get_client_by_id(id) ~= nil
    runs[id], lost[id] = is_there and runs[id] or nil, is_there and lost[id] or nil
  end
  follow()
  observe(client)
  local run = {
    task = task,
    command = command.command,
    ids = {},
    edits = {},
    changed = vim.uv.now(),
    overtaken = false,
    done = false,
  } ---@type claude-ide.language.Run
  runs[client.id] = run
  local params = { command = command.command, arguments = command.arguments }
  local _, err = language_request.send(task, client, METHOD, params, buf, function(id)
    run.ids[id] = true
  end)
  vim.uv.update_time()
  local answered = vim.uv.now()
  run.over = run.over or answered
  if err then
    run.done = true
    task:fail(err)
  end
  servers.settle(task, { client })
  repeat
    task:sleep(LOOK_MS)
    vim.uv.update_time()
    local now = vim.uv.now()
    local is_quiet = #run.edits > 0 and now - math.max(run.changed, answered) >= NEXT_MS
  until is_quiet or #run.edits == 0 and now - answered >= FIRST_MS
  run.done = true
  return run.edits
end

return M
