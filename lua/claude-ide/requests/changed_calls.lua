-- Calls that the user changed before they allowed them. The CLI (2.1.329) tells nobody: Claude, and the terminal, are told beside the
-- call's result. The user is told where the CLI has refused the changed call.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local asked_calls = lazy("claude-ide.sessions.asked_calls")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local notice = lazy("claude-ide.base.notice")
local position = lazy("claude-ide.base.position")

local M = {}

-- Transcripts know it by its beginning: `CHANGED_CALL` in crates/session/src/line_head.rs.
local WORDS = 'The user changed the %s of your call before allowing it. What ran was not "%s", but:\n%s'
local SAID = "You changed the %s to: %s"

---How much of the unchanged argument Claude is reminded of.
local MOST_BEFORE = 80

---What the CLI says of a changed call that it does not run.
local REFUSED = { "^Permission to use .* has been denied", "updatedInput that failed schema validation" }

---@class claude-ide.hook_context.ChangedCall : claude-ide.sessions.AskedCall as it was before
---@field name string of the changed argument

---Calls whose result is not known yet.
---@type table<integer, claude-ide.hook_context.ChangedCall[]> by client
local open = {}

---@type table<integer, { context: string, said: string }[]> not told yet, by process of the CLI
local untold = {}

---@param pid integer
local function write(pid)
  local contexts, said = {}, {}
  for _, one in ipairs(untold[pid] or {}) do
    contexts[#contexts + 1], said[#said + 1] = one.context, one.said
  end
  hook_folder.after_calls(
    pid,
    "changed",
    #contexts > 0 and table.concat(contexts, "\n") or nil,
    #said > 0 and table.concat(said, "\n") or nil
  )
end

local function forget(pid)
  untold[pid] = nil
  write(pid)
end

---@param result? claude-ide.sessions.ToolResult
---@return string
local function words_of(result)
  local words = vim.tbl_map(function(part)
    return part.text or ""
  end, result and result.content or {})
  return table.concat(words, " ")
end

---@param client integer
---@param call claude-ide.sessions.Block that has ended
local function call_ended(client, call)
  for at, one in ipairs(open[client] or {}) do
    if asked_calls.is(call, one) then
      table.remove(open[client], at)
      local words = words_of(call.result)
      local is_refused = vim.iter(REFUSED):any(function(pattern)
        return words:find(pattern) ~= nil
      end)
      if is_refused then
        notice.warn(("The changed %s did not run: %s"):format(one.name, (words:gsub("%s+", " "))))
      end
      return
    end
  end
end

local attach = require("claude-ide.base.once")(function()
  hook_folder.on("told", forget)
  bus.on("calls_ended", function(client, calls, reading)
    asked_calls.read(reading, calls, open[client] or {}, function(call)
      call_ended(client, call)
    end)
  end)
  bus.on("client_disconnected", function(client)
    open[client.id] = nil
    untold[client.pid or 0] = nil
  end)
end)

---What the user is told of a call that was allowed with a changed argument.
---@param name string of the argument
---@param after string
---@return string
function M.said(name, after)
  return SAID:format(name, after)
end

---The user allows a changed call.
---@param pid? integer of the CLI
---@param name string of the argument
---@param before string
---@param after string
---@param client? integer of a CLI in a terminal
---@param asked? claude-ide.sessions.AskedCall
function M.note(pid, name, before, after, client, asked)
  attach()
  if client and asked and asked.tool then
    open[client] = open[client] or {}
    table.insert(open[client], { tool = asked.tool, input = asked.input, at = asked.at, name = name })
  end
  if pid then
    untold[pid] = untold[pid] or {}
    before = position.truncate(before, MOST_BEFORE)
    table.insert(untold[pid], { context = WORDS:format(name, before, after), said = M.said(name, after) })
    write(pid)
  end
end

return M
