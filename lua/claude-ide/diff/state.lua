-- What was proposed and what became of it: pending → accepted | rejected | closed. No windows and no buffers in here.
-- Invariants: a diff is answered exactly once; its key is the request that asked for it, its owner the client.
local M = {}

---@class claude-ide.Diff
---@field id integer claude-ide.Call.id
---@field client integer claude-ide.Client.id
---@field path string absolute; the file that the CLI writes when the diff is accepted
---@field old_path string absolute; the file that the proposal began as, most often the same
---@field tab_name string what the client calls it; need not be unique
---@field proposed string the exact bytes that the client sent
---@field state "pending"|"accepted"|"rejected"|"closed" closed: it ended and nobody decided
---@field order integer lower numbers have waited longer
---@field respond claude-ide.Respond

---@class claude-ide.diff.Args
---@field old_file_path string
---@field new_file_path? string default: old_file_path
---@field new_file_contents string
---@field tab_name? string default: the path

---How a diff ends.
---@alias claude-ide.diff.Outcome "accepted"|"rejected"|"closed"

---@type table<integer, claude-ide.Diff>
local pending = {}
local count, order = 0, 0

---@param call claude-ide.Call
---@param args claude-ide.diff.Args
---@param respond claude-ide.Respond
---@return claude-ide.Diff
function M.add(call, args, respond)
  order = order + 1
  local paths = require("claude-ide.path")
  local function given(text)
    return text and text ~= "" and text or nil
  end
  local path = paths.normalize(given(args.new_file_path) or args.old_file_path)
  local diff = {
    id = call.id,
    client = call.client,
    path = path,
    old_path = paths.normalize(given(args.old_file_path) or path),
    tab_name = given(args.tab_name) or path,
    proposed = args.new_file_contents,
    state = "pending",
    order = order,
    respond = respond,
  }
  pending[diff.id] = diff
  count = count + 1
  return diff
end

---Ends a diff and answers the client. The first call decides, later ones change nothing.
---A diff that nobody decided answers "rejected": the CLI would take any other word as a yes.
---@param diff claude-ide.Diff
---@param outcome claude-ide.diff.Outcome
---@param contents? string for "accepted": the exact bytes to write
---@return boolean settled false: it had ended before
function M.settle(diff, outcome, contents)
  if diff.state ~= "pending" then
    return false
  end
  diff.state = outcome
  pending[diff.id] = nil
  count = count - 1
  local respond = diff.respond
  diff.respond = nil
  if outcome == "accepted" then
    respond({ outcome = "saved", contents = contents })
  else
    respond({ outcome = "rejected" })
  end
  return true
end

---Ends a diff whose client no longer waits. Nothing is answered.
---@param diff claude-ide.Diff
---@return boolean settled
function M.abandon(diff)
  if diff.state ~= "pending" then
    return false
  end
  diff.state, diff.respond = "closed", nil
  pending[diff.id] = nil
  count = count - 1
  return true
end

---Ends a diff that cannot be put before the person. The answer is an error: the CLI writes nothing, and its own prompt in
---the terminal stays open for the decision.
---@param diff claude-ide.Diff
---@param message string
---@return boolean settled
function M.fail(diff, message)
  local respond = diff.respond
  if not M.abandon(diff) then
    return false
  end
  ---@cast respond -nil
  respond(nil, { code = "failed", message = message })
  return true
end

---@param id integer
---@return claude-ide.Diff?
function M.get(id)
  return pending[id]
end

---The diffs that wait for a decision, the longest waiting first.
---@param matches? fun(diff: claude-ide.Diff): boolean
---@return claude-ide.Diff[]
function M.pending(matches)
  local found = {}
  for _, diff in pairs(pending) do
    if not matches or matches(diff) then
      found[#found + 1] = diff
    end
  end
  table.sort(found, function(a, b)
    return a.order < b.order
  end)
  return found
end

---@return integer
function M.count()
  return count
end

return M
