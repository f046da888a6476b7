-- Prompts of the user's scripts: `require("claude-ide").prompt()`.
local lazy = require("claude-ide.lazy")
local native = lazy("claude-ide.library.native")
local outbox = lazy("claude-ide.outbox")
local route_to = lazy("claude-ide.outbox.route")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

---@param text string
---@param opts claude-ide.PromptOpts
---@return boolean? ok
---@return string? err
function M.prompt(text, opts)
  local words, problem = native.typed_text(type(text) == "string" and text or "") -- nothing invisible is sent
  if not words or words == "" then
    return nil, problem or "The prompt is empty."
  end
  sessions.attach()
  local current = terminals.session()
  local session = opts.session or current and current.id
  if not session then
    return nil, "No terminal has a session: pass `session`."
  end
  local route, why = route_to.of(session)
  if not route then
    return nil, ("This session cannot get a prompt: %s."):format(why)
  end
  outbox.send({
    kind = "script",
    session = session,
    text = text,
    ran = route.kind ~= "dead",
    done = function(err)
      if opts.on_done then
        vim.schedule_wrap(opts.on_done)(err)
      end
    end,
  })
  return true
end

return M
