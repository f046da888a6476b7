-- Proposals of CLIs that speak the IDE companion specification (Gemini CLI, Qwen Code). The call is answered at once, the decision is a
-- notification. Their terminal asks at the same time: without a notification its question stays open.
local lazy = require("claude-ide.lazy")
local acceptance = lazy("claude-ide.edits.proposal.acceptance")
local notice = lazy("claude-ide.base.notice")
local proposal = lazy("claude-ide.edits.proposal")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")

local M = {}

---@class claude-ide.tools.CompanionHandle
---@field client integer
---@field path string as the CLI names it
---@field empties boolean the proposed file is empty

---@param handle claude-ide.tools.CompanionHandle
---@param answer? claude-ide.requests.Answer
local function notify(handle, answer)
  local name = vim.fs.basename(handle.path)
  if answer and answer.contents == "" and not handle.empties then
    -- The CLI (0.61.0) would take it for "as proposed".
    notice.warn(name .. ": an empty text cannot be accepted, so the edit was rejected.")
    server.notify("ide/diffRejected", { filePath = handle.path }, handle.client)
  elseif answer and answer.outcome == "accepted" then
    local accepted = { filePath = handle.path, content = answer.contents }
    server.notify("ide/diffAccepted", accepted, handle.client)
  elseif answer and answer.outcome == "rejected" then
    server.notify("ide/diffRejected", { filePath = handle.path }, handle.client)
  end
end

local requester_of = require("claude-ide.tools.agent_requester")(function(client)
  local agent = server.agent(client)
  local name = agent and agent.name or "The agent"
  return {
    name = name,
    client = client,
    writes = "agent",
    overwrites = true,
    answer = notify,
    tell = function() end,
    cannot_hear = function()
      return name .. " takes no reason from an editor"
    end,
  }, { gone = name .. " is gone", stopping = name .. " asks in its terminal" }
end)

---@param client integer
---@param path string
---@return claude-ide.Diff?
local function find(client, path)
  return proposal.pending(function(diff)
    return diff.requester.client == client and diff.handle.path == path
  end)[1]
end

M.show_diff = {
  ---Shows an edit, in place of the last one of the same file.
  ---@param args { filePath: string, newContent: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    local requester, last = requester_of(call.client), find(call.client, args.filePath)
    if last then
      requests.cancel(last, requester.name .. " proposes another edit")
    end
    ---@type claude-ide.tools.CompanionHandle
    local handle = { client = call.client, path = args.filePath, empties = args.newContent == "" }
    proposal.propose(requester, handle, { path = args.filePath, contents = args.newContent })
    respond(vim.empty_dict())
  end,
}

M.withdraw_diff = {
  ---Closes a diff that was answered in the CLI's terminal. Answers `{ content }`: the proposal as the user has edited it.
  ---@param args { filePath: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    local diff = find(call.client, args.filePath)
    if not diff then
      return respond({ content = vim.NIL })
    end
    local file = diff.files[1]
    local _, edited = user_edits.typed(file)
    local contents = acceptance.to_write(file, edited)
    requests.cancel(diff, "it was answered in the terminal of " .. diff.requester.name)
    respond({ content = contents })
  end,
}

return M
