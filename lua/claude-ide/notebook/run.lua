-- One run of code: who wants it, how far it is, and in what words it is answered.
-- Invariant: it is answered once, or dropped by who asked.
local M = {}

---@alias claude-ide.notebook.Answer { content: table[], is_error?: boolean, outputs?: string, count?: integer }

---@class claude-ide.notebook.Run
---@field code string
---@field who string for the user
---@field session? fun(): string? the session that it is asked for in
---@field restart? boolean a fresh kernel first
---@field keep? boolean the outputs are wanted as a notebook has them, as JSON
---@field done fun(answer?: claude-ide.notebook.Answer, err?: string) once, unless it is cancelled
---@field left? fun(answer: claude-ide.notebook.Answer) where it was cancelled and has put something out
---@field id? integer
---@field phase? "waiting"|"asking"|"starting"|"running"
---@field dropped? boolean nobody waits any more
---@field news? string[] what its answer says of the kernel that it began in
---@field overdue? boolean it was answered and goes on
---@field decision? claude-ide.Decision

M.DIED = "The kernel ended while this ran. All variables are gone; the next call starts a new kernel."
M.STUBBORN = "The kernel is still busy with code that ignores the interrupt. restart: true begins anew."

---@param run claude-ide.notebook.Run
---@param answer? claude-ide.notebook.Answer
---@param err? string
function M.finish(run, answer, err)
  if run.done and not run.dropped then
    local done = run.done
    run.done = nil
    require("claude-ide.safely").wrap("answer a run", done)(answer, err)
  elseif run.dropped and run.left and answer then
    local left = run.left
    run.left = nil
    require("claude-ide.safely").wrap("keep what a cancelled run has put out", left)(answer)
  end
end

local function remark(event)
  local status, seconds = event.status, ("%.0f s"):format(event.seconds or 0)
  if status == "timeout" then
    return ("Interrupted after %s: the time limit of the user's editor."):format(seconds)
  elseif status == "interrupted" then
    return ("The user interrupted it after %s."):format(seconds)
  elseif status == "stubborn" then
    return ("It was interrupted after %s and goes on all the same. Wait, or begin anew with restart: true."):format(
      seconds
    )
  elseif status == "died" then
    return M.DIED
  elseif status == "failed" then
    return "The kernel could not run this: " .. tostring(event.message)
  end
  return nil
end

---What is answered when it is done.
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
