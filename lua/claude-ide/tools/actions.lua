-- Code actions: those that a server has offered, by id, and what one of them would change. Nothing runs that is not from a
-- server's own list, and what a server's command wants edited (`workspace/applyEdit`) becomes part of the changeset.
-- LSP 3.17, "textDocument/codeAction", "codeAction/resolve", "workspace/executeCommand", "workspace/applyEdit".
local M = {}

local METHOD = "textDocument/codeAction"

---So many are remembered, of all agents together.
local MAX_KEPT = 200

---How long a server has to say what is wrong in the file: quick fixes are offered for what it has said.
local JUDGED_MS = 5000

---How long a command may go on to send its edits after it has answered.
local AFTER_MS = 100

---@class claude-ide.tools.Action
---@field id string
---@field client integer of vim.lsp
---@field buf integer
---@field tick integer
---@field action table CodeAction or Command
---@field asked fun(edit: table): claude-ide.changeset.ServerEdit

---@type claude-ide.tools.Action[]
local kept = {}
local last_id = 0

---@return boolean whether it is a bare Command
local function is_command(action)
  return type(action.command) == "string"
end

---What servers offer for a range.
---@param task claude-ide.language.Task
---@param buf integer
---@param range fun(client: vim.lsp.Client): lsp.Range
---@param only? string[] kinds
---@return claude-ide.tools.Action[]
---@return string? err
function M.offered(task, buf, range, only)
  local servers = require("claude-ide.language.servers")
  local clients, why_not = servers.wait(task, buf, METHOD, "offer code actions")
  if why_not then
    return {}, why_not
  end
  servers.settle(task, clients)
  if require("claude-ide.language.ready").speaks_of(buf) then
    task:await(function(resume)
      require("claude-ide.diagnostics.fresh").wait({ buf }, JUDGED_MS, resume)
    end)
  end
  local found, problem = {}, nil ---@type claude-ide.tools.Action[], string?
  for _, client in ipairs(clients) do
    require("claude-ide.language.breaks").of(task, client, buf)
    local wanted = range(client)
    local diagnostics = {}
    for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
      local raw = type(diagnostic.user_data) == "table" and diagnostic.user_data.lsp
      local is_here = diagnostic.lnum <= wanted["end"].line
        and (diagnostic.end_lnum or diagnostic.lnum) >= wanted.start.line
      if raw and raw.range and is_here then
        diagnostics[#diagnostics + 1] = raw
      end
    end
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      range = wanted,
      context = { diagnostics = diagnostics, only = only, triggerKind = 1 },
    }
    local asked = require("claude-ide.tools.changes").asked(client)
    local answer, err = require("claude-ide.language.request").send(task, client, METHOD, params, buf)
    problem = problem or err
    for _, action in ipairs(type(answer) == "table" and answer or {}) do
      if type(action) == "table" and type(action.title) == "string" then
        last_id = last_id + 1
        found[#found + 1] = {
          id = tostring(last_id),
          client = client.id,
          buf = buf,
          tick = vim.api.nvim_buf_get_changedtick(buf),
          action = action,
          asked = asked,
        }
      end
    end
  end
  return found, #found == 0 and problem or nil
end

---Remembers actions that were shown to an agent.
---@param actions claude-ide.tools.Action[]
function M.keep(actions)
  vim.list_extend(kept, actions)
  while #kept > MAX_KEPT do
    table.remove(kept, 1)
  end
end

---No two have one id, and an agent that speaks HTTP may come back on another connection: it is not asked who it was shown to.
---@param task claude-ide.language.Task
---@param id string
---@return claude-ide.tools.Action
function M.find(task, id)
  for _, one in ipairs(kept) do
    if one.id == id then
      if not vim.api.nvim_buf_is_loaded(one.buf) or vim.api.nvim_buf_get_changedtick(one.buf) ~= one.tick then
        task:fail("the file has changed since; list its code actions again")
      end
      return one
    end
  end
  task:fail(("there is no code action %q; list them with code_actions"):format(id))
  error("a task that failed has ended")
end

---@return boolean whether the server itself says that it can do it
local function is_of_server(client, command)
  local provider = client.server_capabilities.executeCommandProvider
  local commands = type(provider) == "table" and provider.commands
  return type(commands) == "table" and vim.list_contains(commands, command)
end

---Has a server do one of its commands, and takes what it wants edited.
---@param command { command: string, arguments?: any[] }
---@return table[] edits
---@return string? err
local function run_command(task, client, buf, command)
  if not is_of_server(client, command.command) then
    return {}, ("it needs the editor's command %q, which is not run for a model"):format(command.command)
  end
  local edits, before = {}, client.handlers["workspace/applyEdit"]
  client.handlers["workspace/applyEdit"] = function(_, params)
    edits[#edits + 1] = type(params) == "table" and params.edit or nil
    return { applied = true }
  end
  local params = { command = command.command, arguments = command.arguments }
  local ok, err = pcall(function()
    local _, problem =
      require("claude-ide.language.request").send(task, client, "workspace/executeCommand", params, buf)
    if #edits == 0 and not problem then
      task:sleep(AFTER_MS)
    end
    return problem and error(problem, 0)
  end)
  client.handlers["workspace/applyEdit"] = before
  return edits, not ok and tostring(err) or nil
end

---What an action would change.
---@param task claude-ide.language.Task
---@param one claude-ide.tools.Action
---@return claude-ide.changeset.ServerEdit[] edits
---@return string? note
function M.edits(task, one)
  local client = vim.lsp.get_client_by_id(one.client)
  if not client then
    task:fail("the language server that offered it has ended")
    error("a task that failed has ended")
  end
  local action, asked = one.action, one.asked
  if type(action.disabled) == "table" then
    task:fail(("it cannot be done here: %s"):format(tostring(action.disabled.reason)))
  end
  if not is_command(action) and type(action.edit) ~= "table" then
    local provider = client.server_capabilities.codeActionProvider
    if type(provider) == "table" and provider.resolveProvider == true then
      asked = require("claude-ide.tools.changes").asked(client)
      local resolved, err =
        require("claude-ide.language.request").send(task, client, "codeAction/resolve", action, one.buf)
      if err then
        task:fail(err)
      end
      action = type(resolved) == "table" and resolved or action
    end
  end
  local command = is_command(action) and action or type(action.command) == "table" and action.command or nil
  if not is_command(action) and type(action.edit) == "table" then
    local note = command and ("the server's command %q that goes with it was not run"):format(command.command)
      or nil
    return { asked(action.edit) }, note
  elseif not command then
    task:fail("the language server offers it without saying what it would change")
    error("a task that failed has ended")
  end
  asked = require("claude-ide.tools.changes").asked(client)
  local edits, err = run_command(task, client, one.buf, command)
  if err then
    task:fail(err)
  end
  return vim.tbl_map(asked, edits)
end

return M
