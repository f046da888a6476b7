-- The user's reason for rejecting an edit becomes the CLI's next prompt, if the CLI runs in our terminal.
-- Invariant: the text is either typed into that prompt or saved to a register, which a notice names.
--
-- The CLI aborts its turn at a rejection (2.1.329); its record says "idle" once the prompt is ready.
local lazy = require("claude-ide.lazy")
local clock = lazy("claude-ide.base.clock")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

---@param client integer
---@return claude-ide.terminal.Session? terminal
---@return string id of the session, or why there is no terminal
local function target_of(client)
  local known = server.client(client)
  sessions.attach()
  local terminal = terminals.of_process(known and known.pid)
  local live = terminal and terminal:live()
  if terminal and live then
    return terminal, live.id
  elseif terminals.bufnr() and not live and sessions.problem() then
    return nil, "Claude's state is not known"
  end
  return nil, "Claude runs in another terminal"
end

---Why a text cannot be sent to a client now.
---@param client integer
---@return string? why nil: it can
function M.cannot_hear(client)
  local terminal, why = target_of(client)
  return not terminal and why or nil
end

---Sends the reason of a rejection to a client. Call it before the request is answered.
---@param client integer
---@param text string
---@param done? fun(err?: string) called when the client has it, or will not get it
function M.tell(client, text, done)
  done = done or function() end
  local terminal, session = target_of(client)
  if not terminal then
    kept_words.give_back(text, session)
    return done(session)
  end
  outbox.send({
    kind = "reason",
    key = client,
    session = session,
    terminal = terminal,
    text = text,
    has_references = true,
    ran = true,
    after = clock.now(),
    done = function(err)
      if not err and not terminal:is_visible() then
        notice.info("Claude got your reason.")
      end
      done(err)
    end,
  })
end

---The client got a prompt: the user was faster.
---@param client integer
function M.prompt_submitted(client)
  local entry = outbox.find("reason", client)
  if entry and outbox.take_back(entry) then
    local why = "You have already sent another prompt"
    kept_words.give_back(entry.typed, why)
    if entry.done then
      entry.done(why)
    end
  end
end

return M
