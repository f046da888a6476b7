-- The server's clients as requesters: openDiff and the methods that close it, and what a CLI asks in its terminal. Call ids and the
-- client's names for diffs stay in this module.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local card = lazy("claude-ide.requests.card")
local config = lazy("claude-ide.config")
local asked_calls = lazy("claude-ide.sessions.asked_calls")
local journal = lazy("claude-ide.edits.journal")
local names = lazy("claude-ide.sessions.names")
local notify = lazy("claude-ide.requests.notify")
local proposal = lazy("claude-ide.edits.proposal")
local reason = lazy("claude-ide.outbox.reason")
local refusals = lazy("claude-ide.requests.refusals")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local terminal = lazy("claude-ide.terminal")

local M = {}

---@class claude-ide.tools.Handle
---@field call integer claude-ide.Call.id
---@field respond claude-ide.Respond

---A request that is also open as a dialog in the CLI's terminal.
---@class claude-ide.tools.TerminalAsk : claude-ide.tools.Handle, claude-ide.sessions.AskedCall
---@field requester claude-ide.requests.Requester
---@field ask claude-ide.chat.Ask
---@field holds_dialog? boolean the CLI opens the dialog only after the answer
---@field is_of_subagent? boolean
---@field has_dialog? boolean the session's record has said that the dialog waits

---The session's record may report the dialog up to 50 ms before the call, and at most 3 s after it.
local DIALOG_MS, MOST_DIALOG_MS = 50, 3000

---Maximum number of remembered names per client.
local MAX_NAMES = 256

---@class claude-ide.tools.Asker
---@field requesters table<"agent"|"editor", claude-ide.requests.Requester>
---@field names string[] names of its edits, each once, latest last

---@type table<integer, claude-ide.tools.Asker> by client
local askers = {}

---@param asked claude-ide.tools.TerminalAsk
---@param answer? claude-ide.chat.Answer
local function answer_ask(asked, answer)
  if not answer or answer.outcome == "closed" then
    asked.respond(nil) -- the dialog stays
  elseif answer.outcome == "accepted" then
    local changes = next(answer.changes or {}) and answer.changes or vim.empty_dict()
    asked.respond({ allow = { rules = answer.rules or {}, changes = changes, mode = answer.mode } })
  else
    asked.respond({ deny = { message = answer.message } })
  end
end

---@param answer? claude-ide.requests.Answer
---@param err? string
local function answer_call(handle, answer, err)
  if handle.ask then
    answer_ask(handle, answer)
  elseif not answer then
    -- The CLI writes nothing, and its own prompt in the terminal stays open.
    handle.respond(nil, { code = "failed", message = err or "nobody can be asked" })
  elseif answer.outcome == "accepted" then
    handle.respond({ outcome = "saved", contents = answer.contents })
  else
    -- Also without a decision: the CLI takes any other word as a yes.
    handle.respond({ outcome = "rejected" })
  end
end

---Whether the user is in the terminal in which a client asks by itself.
local function is_in_terminal(client)
  local known = server.client(client)
  return terminal.is_focused_on(known and known.pid)
end

---What the user calls a client now, if others are connected or another terminal runs.
---@return string?
local function title_if_several(client)
  local clients = vim.tbl_map(function(one)
    return one.id
  end, server.clients())
  if #terminal.list() > 1 then
    return terminal.name_of(server.client(client))
  end
  return #clients > 1 and names.of_clients(clients)[client] or nil
end

---@param writes "agent"|"editor"
---@return claude-ide.requests.Requester
local function new_requester(client, writes)
  return requests.requester({
    name = "Claude",
    client = client,
    writes = writes,
    answer = answer_call,
    tell = function(words, done)
      reason.tell(client, words, done)
      return true
    end,
    cannot_hear = function()
      return reason.cannot_hear(client)
    end,
    asks_here = function()
      return is_in_terminal(client)
    end,
    title_if_several = function()
      return title_if_several(client)
    end,
  })
end

---@return fun(request: claude-ide.Request): boolean
local function is_of(client)
  return function(request)
    return request.requester.client == client
  end
end

---@param client integer
---@param asks_there boolean it has its own dialog
local function forget(client, asks_there)
  local asker = askers[client]
  askers[client] = nil
  for _, requester in pairs(asker and asker.requesters or {}) do
    requests.gone(requester, asks_there and "Claude asks in its terminal" or "that Claude is gone")
  end
end

---The server or Neovim ends: leaves requests to the dialogs of CLIs, which stay open without an answer, and closes those of other clients.
function M.leave()
  for client in pairs(askers) do
    local known = server.client(client)
    if known and known.name == "claude-code" then
      forget(client, true)
    end
  end
  requests.close_those(function(request)
    return request.requester.client ~= nil
  end)
end

---Closes requests whose dialog was answered in the terminal: the session's record no longer says "waiting". The CLI does not report
---a yes in any other way.
---@param session claude-ide.sessions.Live
local function follow_dialogs(session)
  local state = session.state
  local pending = requests.pending(function(request)
    local client = request.requester.client and server.client(request.requester.client)
    local asked = request.handle
    return client ~= nil and client.pid == session.pid and asked.ask ~= nil and not asked.holds_dialog
  end)
  for _, request in ipairs(pending) do
    local asked = request.handle ---@type claude-ide.tools.TerminalAsk
    local since = state.since or 0
    if state.activity == "waiting" then
      asked.has_dialog = asked.has_dialog or since >= asked.at - DIALOG_MS
    elseif asked.has_dialog and since > asked.at then
      requests.close(request)
    end
  end
end

---Closes requests whose call has a result, so that they were answered in the terminal: of several dialogs the record does not tell which
---was answered, and says "waiting" until the last one was.
---@param client integer
---@param calls claude-ide.sessions.EndedCall[]
---@param reading claude-ide.sessions.Reading
local function follow_results(client, calls, reading)
  local function pending()
    return requests.pending(function(request)
      local asked = request.handle
      return request.requester.client == client and asked.ask ~= nil and asked.tool ~= nil
    end)
  end
  local asked = vim.tbl_map(function(request)
    return request.handle
  end, pending())
  asked_calls.read(reading, calls, asked, function(call)
    local request = vim.iter(pending()):find(function(one)
      return asked_calls.is(call, one.handle)
    end)
    if request then
      requests.close(request)
    end
  end)
end

---Closes a request without a dialog: it was answered in the terminal before this Neovim saw it, as after a stall.
---@param asked claude-ide.tools.TerminalAsk
local function close_without_dialog(asked)
  local live = sessions.of_client(asked.requester.client --[[@as integer]])
  asked.has_dialog = asked.has_dialog or live ~= nil and live.state.activity == "waiting"
  if live and not asked.has_dialog then
    requests.close_those(function(request)
      return request.handle == asked
    end)
  end
end

---Whether the user can answer here soon, so that the dialog may be held back.
---@param requester claude-ide.requests.Requester
---@param done fun(is_attended: boolean) possibly before this returns
local function when_known_if_attended(requester, done)
  if requester.asks_here and requester.asks_here() then
    done(false)
  else
    notify.when_known_if_here(done)
  end
end

---Handles the end of clients and of the server, and dialogs.
local attach = require("claude-ide.base.once")(function()
  bus.on("server_stopping", M.leave)
  bus.on("client_disconnected", function(client)
    forget(client.id, server.was_sent_away(client.id))
  end)
  bus.on("session_changed", function(change)
    follow_dialogs(change.session)
  end)
  bus.on("calls_ended", follow_results)
  vim.api.nvim_create_autocmd("BufEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.tools.claude_client", { clear = true }),
    desc = "Claude Code: open a held dialog when the user enters its terminal",
    callback = vim.schedule_wrap(function()
      requests.close_those(function(request)
        return request.requester.client ~= nil
          and request.handle.holds_dialog
          and request.requester.asks_here ~= nil
          and request.requester.asks_here()
      end)
    end),
  })
end)

---@return claude-ide.tools.Asker
local function asker_of(client)
  attach()
  askers[client] = askers[client] or { requesters = {}, names = {} }
  return askers[client]
end

---@param writes "agent"|"editor"
---@return claude-ide.requests.Requester
local function requester_of(client, writes)
  local asker = asker_of(client)
  local requester = asker.requesters[writes] or new_requester(client, writes)
  asker.requesters[writes] = requester
  local terminals = package.loaded["claude-ide.terminal"]
  if type(terminals) == "table" then
    requester.name = terminals.name_of(server.client(client))
    requester.is_one_of_several = #terminals.list() > 1
  end
  return requester
end

---Proposes a client's edit.
---@param writes "agent"|"editor"
local function propose(call, respond, writes, edit)
  local asker, requester = asker_of(call.client), requester_of(call.client, writes)
  local handle = { call = call.id, respond = respond } ---@type claude-ide.tools.Handle
  local diff = proposal.propose(requester, handle, edit)
  for _, name in ipairs({ diff.tab_name, diff.files[1].path }) do
    asker.names = vim.tbl_filter(function(known)
      return known ~= name
    end, asker.names)
    table.insert(asker.names, name)
  end
  while #asker.names > MAX_NAMES do
    table.remove(asker.names, 1)
  end
end

---The client cancelled the call, or its request has ended.
local function cancel(call)
  local dropped = requests.pending(function(request)
    return request.requester.client == call.client and request.handle.call == call.id
  end)[1]
  if dropped then
    requests.cancel(dropped, "Claude withdrew it")
  end
end

---Closes a client's edits with this name or path.
---@param client integer
---@param name string
---@return boolean closed also true if it has ended before; false: it never existed
function M.close_by_name(client, name)
  local is_its_own = is_of(client)
  local closed = requests.close_those(function(request)
    ---@cast request claude-ide.Diff
    local files = request.files or {} -- other requests have none
    return is_its_own(request) and files[1] ~= nil and (request.tab_name == name or files[1].path == name)
  end, "it was answered in Claude's prompt")
  local asker = askers[client]
  return closed > 0 or asker ~= nil and vim.list_contains(asker.names, name)
end

---Whether a subagent asks, which goes on in the background while the main thread has other turns.
---@param request claude-ide.Request of a client
---@return boolean
local function is_of_subagent(request)
  local asked = request.handle
  return asked.is_of_subagent == true
end

---A turn of the client begins: its earlier requests are void, but for those of subagents. Nobody can write a prompt while a dialog is
---open, so one that is open now is a subagent's, and what it asks here as well, such as a diff.
---@param client integer
---@return integer count of closed requests
function M.prompt_submitted(client)
  M.end_of_turn(client)
  reason.prompt_submitted(client)
  local live, is_its_own = sessions.of_client(client), is_of(client)
  if live and live.state.activity == "waiting" then
    return 0
  end
  return requests.close_those(function(request)
    return is_its_own(request) and not is_of_subagent(request)
  end, "Claude has a new prompt")
end

---The edits of the client's turn are over.
---@param client integer
function M.end_of_turn(client)
  local asker = askers[client]
  for _, requester in pairs(asker and asker.requesters or {}) do
    proposal.end_of_turn(requester)
  end
end

---@class claude-ide.tool.OpenDiff.Args
---@field old_file_path string
---@field new_file_path? string default: old_file_path
---@field new_file_contents string
---@field tab_name? string default: the path
---@field written_by? "server" writes the file after acceptance; default: the client

---@param text? string
---@return string? text nil: empty
local function given(text)
  return text ~= "" and text or nil
end

M.open_diff = {
  ---Shows an edit, and answers `{ outcome, contents? }` once decided: with "saved", the exact bytes to write.
  ---@param args claude-ide.tool.OpenDiff.Args
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    local path = given(args.new_file_path) or args.old_file_path
    propose(call, respond, args.written_by == "server" and "editor" or "agent", {
      path = path,
      note = refusals.of_edit(path),
      old_path = given(args.old_file_path),
      tab_name = given(args.tab_name),
      contents = args.new_file_contents,
    })
  end,
  cancel = cancel,
}

---Calls that are not shown before it is known whether the user is here.
---@type table<integer, true> by id
local unshown = {}

M.permission = {
  ---Asks the user what the CLI asks in its terminal at the same time, or later. Answers `{ allow = … }` or `{ deny = … }`, see
  ---`crates/agent/src/stream_json/hook.rs`; null leaves it to the terminal.
  ---@param args { ask: claude-ide.chat.Ask, holds_dialog: boolean, tool: string, input: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    ---@type claude-ide.tools.TerminalAsk
    local asked = {
      requester = requester_of(call.client, "agent"),
      call = call.id,
      respond = respond,
      ask = args.ask,
      at = call.at,
      holds_dialog = args.holds_dialog,
      is_of_subagent = args.holds_dialog and args.ask.kind ~= "form",
      tool = args.tool,
      input = args.input,
    }
    local hooks = config.get().hooks
    local is_refusal = refusals.explain(args.ask, args.tool, args.input)
    if not hooks.enabled then -- and a settings file has the hooks
      return respond(nil)
    elseif is_refusal and not asked.holds_dialog then
      if hooks.held_dialog_s == 0 then
        return respond(nil)
      end
      -- As with a subagent's, the CLI opens the dialog only after the hook (2.1.329 and 2.1.332). The server has no limit for this one.
      asked.holds_dialog = true
      vim.defer_fn(function()
        requests.close_those(function(request)
          return request.handle == asked
        end)
      end, hooks.held_dialog_s * 1000)
    end
    if not asked.holds_dialog then
      card.show(asked)
      return vim.defer_fn(function()
        close_without_dialog(asked)
      end, MOST_DIALOG_MS)
    end
    unshown[call.id] = true
    when_known_if_attended(asked.requester, function(is_attended)
      local is_cancelled = not unshown[call.id]
      unshown[call.id] = nil
      if is_attended and not is_cancelled then
        card.show(asked)
      elseif not is_cancelled then
        respond(nil)
      end
    end)
  end,
  cancel = function(call)
    unshown[call.id] = nil
    cancel(call)
  end,
}

M.close_tab = {
  ---Closes a diff by the client's name or its path; usually it was answered in the terminal.
  ---@param args { tab_name: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    respond({ closed = M.close_by_name(call.client, args.tab_name) })
  end,
}

M.close_all_diff_tabs = {
  ---Closes all diffs of the client, which requests this with each prompt.
  ---@param _ table
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(_, respond, call)
    journal.turn_started(call.client, { at = call.at })
    respond({ count = M.prompt_submitted(call.client) })
  end,
}

return M
