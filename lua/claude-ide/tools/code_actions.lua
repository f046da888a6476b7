-- Code actions: lists those that servers offer, by id, and proposes their edits. Only commands of a server's own list are executed, and
-- the edits they request (`workspace/applyEdit`) become part of the changeset.
-- LSP 3.17, "textDocument/codeAction", "codeAction/resolve", "workspace/executeCommand", "workspace/applyEdit".
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local changes = lazy("claude-ide.tools.changes")
local counted = lazy("claude-ide.base.counted")
local fresh = lazy("claude-ide.language.diagnostics.fresh")
local language_command = lazy("claude-ide.language.command")
local locate = lazy("claude-ide.language.locate")
local paging = lazy("claude-ide.language.paging")
local position = lazy("claude-ide.base.position")
local ready = lazy("claude-ide.language.ready")
local request = lazy("claude-ide.language.request")
local servers = lazy("claude-ide.language.servers")
local symbol = lazy("claude-ide.language.symbol")

local M = {}

local METHOD = "textDocument/codeAction"
local ORGANIZE = "source.organizeImports"

---Maximum number of remembered actions, of all agents.
local MAX_KEPT = 200

---Timeout for diagnostics of the file, which quick fixes are offered for.
local JUDGED_MS = 5000

---@class claude-ide.tools.Action
---@field id string
---@field client integer of vim.lsp
---@field buf integer
---@field tick integer
---@field action table CodeAction or Command
---@field edit? claude-ide.changeset.ServerEdit that it was listed with

---@type claude-ide.tools.Action[] listed for an agent
local kept = {}
local last_id = 0

---@return boolean whether it is a bare Command
local function is_command(action)
  return type(action.command) == "string"
end

---Raw diagnostics of language servers in a range.
local function diagnostics_in(buf, range)
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local raw = type(diagnostic.user_data) == "table" and diagnostic.user_data.lsp
    local is_here = diagnostic.lnum <= range["end"].line
      and (diagnostic.end_lnum or diagnostic.lnum) >= range.start.line
    found[#found + 1] = raw and raw.range and is_here and raw or nil
  end
  return found
end

---Actions offered for a range. Fails the task if all servers failed.
---@param range fun(client: vim.lsp.Client): lsp.Range
---@param kind? string filter
---@return claude-ide.tools.Action[]
local function offered(task, buf, range, kind)
  local clients = servers.need(task, buf, METHOD, "offer code actions")
  servers.settle(task, clients)
  if ready.speaks_of(buf) then
    task:await(function(resume)
      fresh.wait({ buf }, JUDGED_MS, resume)
    end)
  end
  local found, problem = {}, nil ---@type claude-ide.tools.Action[], string?
  for _, client in ipairs(clients) do
    breaks.of(task, client, buf)
    local wanted = range(client)
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      range = wanted,
      context = { diagnostics = diagnostics_in(buf, wanted), only = kind and { kind }, triggerKind = 1 },
    }
    local asked = changes.asked(client)
    local answer, err = request.send(task, client, METHOD, params, buf)
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
          edit = type(action.edit) == "table" and asked(action.edit) or nil,
        }
      end
    end
  end
  if #found == 0 and problem then
    task:fail(problem)
  end
  return found
end

---Executes a server's command, and collects the edits that it requests.
---@param command { command: string, arguments?: any[] }
---@return table[] edits
local function run_command(task, client, buf, command)
  local provider = client.server_capabilities.executeCommandProvider
  local commands = type(provider) == "table" and provider.commands
  if type(commands) ~= "table" or not vim.list_contains(commands, command.command) then
    task:fail(("it needs the editor's command %q, which is not run for a model"):format(command.command))
  end
  return language_command.run(task, client, buf, command)
end

---The edits of an action.
---@param one claude-ide.tools.Action
---@return claude-ide.changeset.ServerEdit[] edits
---@return string? note
local function edits_of(task, one)
  local client = vim.lsp.get_client_by_id(one.client)
  local action, edit = one.action, one.edit
  if not client then
    return task:fail("the language server that offered it has ended")
  elseif type(action.disabled) == "table" then
    task:fail(("it cannot be done here: %s"):format(tostring(action.disabled.reason)))
  end
  local provider = (client.server_capabilities or {}).codeActionProvider
  local can_resolve = type(provider) == "table" and provider.resolveProvider == true
  if can_resolve and not is_command(action) and type(action.edit) ~= "table" then
    local asked = changes.asked(client)
    local resolved, err = request.send(task, client, "codeAction/resolve", action, one.buf)
    if err then
      task:fail(err)
    end
    action = type(resolved) == "table" and resolved or action
    edit = type(action.edit) == "table" and asked(action.edit) or nil
  end
  local command = is_command(action) and action or type(action.command) == "table" and action.command or nil
  if not is_command(action) and edit then
    local note = command and ("the server's command %q that goes with it was not run"):format(command.command)
    return { edit }, note or nil
  elseif not command then
    return task:fail("the language server offers it without saying what it would change")
  end
  local asked = changes.asked(client)
  local edits = run_command(task, client, one.buf, command)
  local none = ("%s has run its command %q, and has requested no edit"):format(client.name, command.command)
  return vim.tbl_map(asked, edits), #edits == 0 and none or nil
end

---@param args { path: string, line?: integer, end_line?: integer, symbol?: string }
---@return integer buf
---@return fun(client: vim.lsp.Client): lsp.Range
local function range_of(task, args)
  if args.line and args.end_line and args.end_line < args.line then
    task:fail(("end_line %d lies before line %d"):format(args.end_line, args.line), "invalid_params")
  end
  local buf = locate.buffer(task, args.path)
  local count = vim.api.nvim_buf_line_count(buf)
  local first = math.min(args.line or 1, count) - 1
  local last = math.min(args.end_line or args.line or count, count) - 1
  local from, to = 0, #(vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1] or "")
  if args.symbol then
    local place = symbol.symbol(task, buf, args.symbol, args.line)
    first, last, from, to = place.row, place.row, place.col, place.col + #place.name
  end
  return buf,
    function(client)
      return {
        start = breaks.position(client, buf, first, from),
        ["end"] = breaks.position(client, buf, last, to),
      }
    end
end

---@param one claude-ide.tools.Action
local function line_of(one)
  local action = one.action
  local words = {}
  if type(action.kind) == "string" and action.kind ~= "" then
    words[#words + 1] = action.kind
  end
  if action.isPreferred == true then
    words[#words + 1] = "preferred"
  end
  if type(action.disabled) == "table" then
    words[#words + 1] = "not here: " .. tostring(action.disabled.reason)
  end
  local title = position.truncate(position.valid((action.title:gsub("%s+", " "))), 160)
  local more = #words > 0 and (" (%s)"):format(table.concat(words, ", ")) or ""
  return ("  %s: %s%s"):format(one.id, title, more)
end

---Lists code actions for a range of lines.
M.code_actions = tool(function(task, args)
  local buf, range = range_of(task, args)
  local found = offered(task, buf, range, args.kind)
  if #found == 0 then
    return { text = "The language server offers nothing to do there." }
  end
  vim.list_extend(kept, found)
  while #kept > math.max(MAX_KEPT, #found) do
    table.remove(kept, 1)
  end
  local lines = { counted(#found, "code action") .. "; apply_action does one by its id:" }
  return { text = paging.cut(table.concat(vim.list_extend(lines, vim.tbl_map(line_of, found)), "\n")) }
end)

---Applies a listed action. Ids are unique, and an agent may reconnect over HTTP: the connection it was listed on does not matter.
M.apply_action = tool(function(task, args)
  local one = vim.iter(kept):find(function(action)
    return action.id == args.id
  end)
  if not one then
    return task:fail(("there is no code action %q; list them with code_actions"):format(args.id))
  elseif not vim.api.nvim_buf_is_loaded(one.buf) or vim.api.nvim_buf_get_changedtick(one.buf) ~= one.tick then
    task:fail("the file has changed since; list its code actions again")
  end
  local edits, note = edits_of(task, one)
  local answer = changes.propose(task, {
    title = one.action.title,
    edits = edits,
    none = "The action changes nothing here.",
  })
  return { text = note and answer.text .. "\nNote: " .. note .. "." or answer.text }
end)

---Organizes the imports of a file.
M.organize_imports = tool(function(task, args)
  local buf, shown = locate.buffer(task, args.path), locate.shown(args.path)
  local all = {
    start = { line = 0, character = 0 },
    ["end"] = { line = vim.api.nvim_buf_line_count(buf), character = 0 },
  }
  local found = vim
    .iter(offered(task, buf, function()
      return all
    end, ORGANIZE))
    :find(function(one)
      return one.action.kind == nil or vim.startswith(tostring(one.action.kind), ORGANIZE)
    end)
  if not found then
    return { text = ("The language server offers nothing to organize in %s."):format(shown) }
  end
  return changes.propose(task, {
    title = "Organize the imports of " .. vim.fs.basename(shown),
    edits = (edits_of(task, found)),
    none = ("The imports of %s are in order already; nothing was changed."):format(shown),
  })
end)

return M
