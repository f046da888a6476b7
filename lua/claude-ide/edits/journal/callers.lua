-- Whose calls made a change, and at which step of which turn, in words. The library knows the ids of a change's calls (`Hunk.calls`); this
-- module knows the calls. Where they are not known nothing is said.
local lazy = require("claude-ide.lazy")
local paths = lazy("claude-ide.base.path")

local M = {}

---Calls that are remembered.
local MAX_CALLS = 2000

---@class claude-ide.journal.CallsTurn one turn of a session or subagent
---@field steps integer calls that it has made so far

---@class claude-ide.journal.Caller
---@field name string of the tool
---@field path string of the file, resolved
---@field session? string
---@field step? claude-ide.sessions.Step
---@field of claude-ide.journal.CallsTurn
---@field agent? string of a subagent

---@type table<string, claude-ide.journal.Caller> by id
local callers = {}
---Their ids, oldest first.
local ids = {} ---@type string[]
---The id of the last call that changed a file, by path.
local last = {} ---@type table<string, string?>
---Turns of the remembered calls.
---@type table<string, claude-ide.journal.CallsTurn>
local turns = setmetatable({}, { __mode = "v" })

---A call has ended.
---@param call claude-ide.sessions.EndedCall
---@param reading claude-ide.sessions.Reading
function M.ended(call, reading)
  local step = call.step
  local key = ("%s %s"):format(reading.file, step and step.turn or "")
  local of = turns[key] or { steps = 0 }
  turns[key] = of
  of.steps = math.max(of.steps, step and step.number or 0)
  if not call.change then
    return
  end
  local path = paths.real(paths.normalize(call.change.path))
  ids[#ids + 1] = callers[call.id] == nil and call.id or nil
  last[path] = call.id
  callers[call.id] = {
    name = call.name,
    path = path,
    session = reading.session,
    step = step,
    of = of,
    agent = reading.is_subagent and (reading.name or "") or nil,
  }
  if #ids > MAX_CALLS then
    local oldest = table.remove(ids, 1)
    local of_file = callers[oldest].path
    last[of_file] = last[of_file] ~= oldest and last[of_file] or nil
    callers[oldest] = nil
  end
end

---The session whose call changed a file last.
---@param path string
---@return string?
function M.session_of(path)
  local caller = callers[last[paths.real(path)] or ""]
  return caller and caller.session
end

---Whose calls made a change: the last one, and how many more.
---@param hunk claude-ide.journal.Hunk
---@return string[] texts the same in fewer and fewer words; none: not known
function M.words(hunk)
  local caller = callers[hunk.calls[1] or ""]
  if not caller then
    return {}
  end
  local step, agent = caller.step, caller.agent
  local texts = { caller.name }
  local function add(words)
    table.insert(texts, 1, ("%s · %s"):format(texts[1], words))
  end
  if step then
    local place = step.turn and ("turn %d, step %d"):format(step.turn, step.number) or "step " .. step.number
    add(place)
    table.insert(texts, 1, ("%s of %d"):format(texts[1], caller.of.steps))
  end
  if agent then
    add(agent == "" and "a subagent" or ("subagent “%s”"):format(agent))
  end
  if #hunk.calls > 1 then
    add(("and %d more"):format(#hunk.calls - 1))
  end
  return texts
end

return M
