-- A run of code: its requester, state and answer.
-- Invariant: it is answered once, or dropped by its requester.
local lazy = require("claude-ide.lazy")
local safely = lazy("claude-ide.base.safely")

local M = {}

---@alias claude-ide.notebook.Answer { content: table[], is_error?: boolean, outputs?: string, count?: integer }

---@class claude-ide.notebook.Run
---@field code string
---@field who string for the user
---@field session? fun(): string? session of the requester
---@field confirm? boolean ask the user first, also without `notebook.confirm`
---@field restart? boolean restart the kernel first
---@field keep? boolean also return the outputs as a notebook's JSON
---@field done fun(answer?: claude-ide.notebook.Answer, err?: string) once, unless cancelled
---@field left? fun(answer: claude-ide.notebook.Answer) called if it was cancelled and has output
---@field id? integer
---@field phase? "waiting"|"asking"|"starting"|"running"
---@field dropped? boolean the requester has cancelled it
---@field news? string[] remarks on the kernel for its answer
---@field overdue? boolean answered but still running
---@field request? claude-ide.Request

M.DIED = "The kernel ended while this ran. All variables are gone; the next call starts a new kernel."
M.STUBBORN = "The kernel is still busy with code that ignores the interrupt. restart: true starts it again."

---@param run claude-ide.notebook.Run
---@param answer? claude-ide.notebook.Answer
---@param err? string
function M.finish(run, answer, err)
  if run.done and not run.dropped then
    local done = run.done
    run.done = nil
    safely.wrap("answer a run", done)(answer, err)
  elseif run.dropped and run.left and answer then
    local left = run.left
    run.left = nil
    safely.wrap("keep what a cancelled run has put out", left)(answer)
  end
end

local function remark(event)
  local status, seconds = event.status, ("%.0f s"):format(event.seconds or 0)
  if status == "timeout" then
    return ("Interrupted after %s: the time limit of the user's editor."):format(seconds)
  elseif status == "interrupted" then
    return ("The user interrupted it after %s."):format(seconds)
  elseif status == "stubborn" then
    return ("It was interrupted after %s and is still running. Wait, or start it again with restart: true."):format(
      seconds
    )
  elseif status == "died" then
    return M.DIED
  elseif status == "failed" then
    return "The kernel could not run this: " .. tostring(event.message)
  end
  return nil
end

---The answer of a finished run.
---@param run claude-ide.notebook.Run
---@param event table
---@return claude-ide.notebook.Answer
---@return string line for the user's log
function M.answer(run, event)
  local content = {}
  local function say(text)
    content[#content + 1] = { type = "text", text = text }
  end
  for _, news in ipairs(run.news or {}) do
    say(("[%s]\n"):format(news))
  end
  vim.list_extend(content, event.content)
  local said = remark(event)
  if said then
    say(said)
  elseif #event.content == 0 then
    say("(no output)")
  end
  local answer =
    { content = content, is_error = event.status ~= "ok", outputs = event.outputs, count = event.count }
  return answer, said or ("%s, %.2f s"):format(event.error or event.status, event.seconds)
end

return M
