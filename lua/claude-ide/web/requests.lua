-- Reports requests that wait for the user to clients of the session server, and takes their answers. `claude-ide.requests` settles which
-- answer is first; each kind describes and answers itself (`remote`).
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local log = lazy("claude-ide.base.log")
local own = lazy("claude-ide.terminal.own")
local requests = lazy("claude-ide.requests")
local tell = lazy("claude-ide.web.tell")

local M = {}

---@type table<integer, claude-ide.Request> reported to clients
local known = {}
local unsubscribe = {} ---@type fun()[]

---@param request claude-ide.Request
local function open(request)
  local session = own.of_request(request)
  if not session then
    return -- no session yet, or none at all: checked again when sessions change
  end
  known[request.id] = request
  local remote = requests.remote(request)
  local described ---@type claude-ide.requests.Described
  if remote then
    local ok, result = xpcall(remote.describe, debug.traceback, request)
    if not ok then
      return log.error("a request of kind %s could not be described: %s", request.kind, result)
    end
    described = result
  else
    described = { kind = "code", title = "A request waits in Neovim", choices = {} }
  end
  local message = vim.tbl_extend("force", described, { id = request.id, session = session }) --[[@as table]]
  tell.tell({ decision = message })
end

---@param request claude-ide.Request
local function close(request)
  known[request.id] = nil
  local remote = requests.remote(request)
  if remote and remote.over then
    remote.over(request)
  end
  tell.tell({ closed = { id = request.id, outcome = request.state } })
end

local function look()
  for _, request in pairs(vim.tbl_extend("force", {}, known)) do
    if request.state ~= "pending" then
      close(request)
    end
  end
  for _, request in ipairs(requests.pending()) do
    if not known[request.id] then
      open(request)
    end
  end
end

---The change of the queue does not wait for it.
local look_soon = require("claude-ide.base.soon")(function()
  if #unsubscribe > 0 then
    look()
  end
end)

---Answers a request as a client decided.
---@param ask { decision: integer, choice: string, message?: string, answers?: table<string, string> }
---@return string? why not
function M.decide(ask)
  local request = known[ask.decision]
  if not request or request.state ~= "pending" then
    return "this request has been answered"
  end
  local remote = requests.remote(request)
  if not remote then
    return "answer this request in Neovim"
  end
  local given = { choice = ask.choice, message = ask.message, answers = ask.answers }
  return remote.answer(request, given)
end

---Starts to report.
function M.attach()
  if #unsubscribe == 0 then
    unsubscribe = {
      bus.on("requests_changed", look_soon),
      bus.on("session_changed", function()
        if #requests.pending() > 0 then
          look_soon()
        end
      end),
    }
  end
  look_soon()
end

function M.detach()
  for _, stop in ipairs(unsubscribe) do
    stop()
  end
  unsubscribe, known = {}, {}
end

return M
