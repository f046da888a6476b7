-- Tells the library of connected CLIs and of their prompts. Those that keep no record of themselves (2.0.77) are found by that:
-- the transcript of their folder that grows after a prompt is theirs. From then on they are sessions like the others.
local M = {}

---@param id integer the client
---@param is_prompted boolean it was just given a prompt
local function hear(id, is_prompted)
  local client = require("claude-ide.server").client(id)
  local cwd = client and client.roots and client.roots[1]
  if not client or not client.pid or not cwd then
    return
  end
  local live = require("claude-ide.sessions.live").of_pid(client.pid)
  if live and live.state.source == "record" then
    return
  end
  require("claude-ide.sessions.transport").request(
    { hear = { pid = client.pid, cwd = cwd, version = client.version, prompted = is_prompted } },
    {
      reply = function(_, err)
        if err then
          require("claude-ide.log").debug("the library does not hear of a CLI: %s", err)
        end
      end,
    }
  )
end

---A client was given a prompt.
---@param id integer
function M.prompted(id)
  hear(id, true)
end

---Begins to tell.
function M.attach()
  for _, topic in ipairs({ "client_ready", "client_changed" }) do
    require("claude-ide.hub").on(topic --[[@as claude-ide.hub.Topic]], function(client)
      hear(client.id, false)
    end)
  end
  for _, client in ipairs(require("claude-ide.server").clients()) do
    hear(client.id, false)
  end
end

return M
