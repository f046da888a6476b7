-- The clients of the server as those who ask for decisions: openDiff and what closes it. What came over the wire stays here: which
-- call it was, and what the client called it.
local M = {}

---@class claude-ide.tools.Request
---@field call integer claude-ide.Call.id
---@field respond claude-ide.Respond

---How many names of what it proposed are remembered for a client.
local MAX_NAMES = 256

---@class claude-ide.tools.Asker
---@field sources table<"agent"|"editor", claude-ide.decisions.Source>
---@field names string[] what its edits were called, the latest last

---@type table<integer, claude-ide.tools.Asker> by client
local askers = {}

---@param answer? claude-ide.decisions.Answer
---@param err? string
local function answer_call(request, answer, err)
  if not answer then
    -- The CLI writes nothing, and its own prompt in the terminal stays open for the decision.
    request.respond(nil, { code = "failed", message = err or "nobody can be asked" })
  elseif answer.outcome == "accepted" then
    request.respond({ outcome = "saved", contents = answer.contents })
  else
    -- Also where nobody decided: the CLI would take any other word as a yes.
    request.respond({ outcome = "rejected" })
  end
end

---@param writes "agent"|"editor"
---@return claude-ide.decisions.Source
local function new_source(client, writes)
  return require("claude-ide.decisions").source({
    name = "Claude",
    client = client,
    writes = writes,
    answer = answer_call,
    tell = function(words)
      require("claude-ide.sessions.next_prompt").tell(client, words)
    end,
    cannot_hear = function()
      return require("claude-ide.sessions.next_prompt").cannot_hear(client)
    end,
  })
end

---@return fun(decision: claude-ide.Decision): boolean
local function is_of(client)
  return function(decision)
    return decision.source.client == client
  end
end

local function forget(client)
  local asker = askers[client]
  askers[client] = nil
  local was_sent_away = require("claude-ide.server").was_sent_away(client)
  for _, source in pairs(asker and asker.sources or {}) do
    require("claude-ide.decisions").gone(
      source,
      was_sent_away and "Claude asks in its terminal" or "that Claude is gone"
    )
  end
end

---Learns once what becomes of the clients.
local attach = require("claude-ide.once")(function()
  local bus = require("claude-ide.bus")
  bus.on("server_stopping", function()
    require("claude-ide.decisions").close_those(function(decision)
      return decision.source.client ~= nil
    end)
  end)
  bus.on("client_disconnected", function(client)
    forget(client.id)
  end)
end)

---@return claude-ide.tools.Asker
local function asker_of(client)
  attach()
  askers[client] = askers[client] or { sources = {}, names = {} }
  return askers[client]
end

---Puts a client's edit before the user.
---@param writes "agent"|"editor"
local function propose(call, respond, writes, edit)
  local asker = asker_of(call.client)
  asker.sources[writes] = asker.sources[writes] or new_source(call.client, writes)
  local request = { call = call.id, respond = respond } ---@type claude-ide.tools.Request
  local diff = require("claude-ide.proposal").propose(asker.sources[writes], request, edit)
  vim.list_extend(asker.names, { diff.tab_name, diff.path })
  while #asker.names > MAX_NAMES do
    table.remove(asker.names, 1)
  end
end

---The call of a decision is dropped by a client that is still there, or what it asked for has ended with it.
local function cancel(call)
  local decisions = require("claude-ide.decisions")
  local dropped = decisions.pending(function(decision)
    return decision.source.client == call.client and decision.request.call == call.id
  end)[1]
  if dropped then
    decisions.cancel(dropped, "Claude has taken it back")
  end
end

---Closes the edits of a client that have this name, or are of this file.
---@param client integer
---@param name string
---@return boolean closed true too where it ended before; false: there never was one
function M.close_by_name(client, name)
  local is_its_own = is_of(client)
  local closed = require("claude-ide.decisions").close_those(function(decision)
    ---@cast decision claude-ide.Diff -- a client proposes edits, and asks for nothing else
    return is_its_own(decision) and (decision.tab_name == name or decision.path == name)
  end, "it was answered in Claude's prompt")
  local asker = askers[client]
  return closed > 0 or asker ~= nil and vim.list_contains(asker.names, name)
end

---The client has taken a prompt: what it asked for before it asks no more.
---@param client integer
---@return integer count of what is closed
function M.prompt_submitted(client)
  M.end_of_turn(client)
  require("claude-ide.sessions.next_prompt").prompt_submitted(client)
  return require("claude-ide.decisions").close_those(is_of(client), "Claude has a new prompt")
end

---The client has said that the edits of its turn are over.
---@param client integer
function M.end_of_turn(client)
  local asker = askers[client]
  for _, source in pairs(asker and asker.sources or {}) do
    require("claude-ide.proposal").end_of_turn(source)
  end
end

---@class claude-ide.tool.OpenDiff.Args
---@field old_file_path string
---@field new_file_path? string default: old_file_path
---@field new_file_contents string
---@field tab_name? string default: the path
---@field written_by? "server" who writes the file when it is accepted; default: the client

---@param text? string
---@return string? text nil: it is not given
local function given(text)
  return text ~= "" and text or nil
end

M.open_diff = {
  ---Shows an edit, and answers `{ outcome, contents? }` when the user has decided: the exact bytes to write, with "saved".
  ---@param args claude-ide.tool.OpenDiff.Args
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    propose(call, respond, args.written_by == "server" and "editor" or "agent", {
      path = given(args.new_file_path) or args.old_file_path,
      old_path = given(args.old_file_path),
      tab_name = given(args.tab_name),
      contents = args.new_file_contents,
    })
  end,
  cancel = cancel,
}

M.close_tab = {
  ---Ends a diff of the client by what it called it, or the path of its file: most often it was answered in the terminal.
  ---@param args { tab_name: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    respond({ closed = M.close_by_name(call.client, args.tab_name) })
  end,
}

M.close_all_diff_tabs = {
  ---Ends all diffs of the client, which asks for it with each prompt.
  ---@param _ table
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(_, respond, call)
    require("claude-ide.journal").turn_started(call.client, call.at)
    respond({ count = M.prompt_submitted(call.client) })
  end,
}

return M
