-- Puts the features together: who begins to work when the server runs, and who takes what clients ask for. The one module
-- that knows all of them; they know each other only through the event bus, or downwards (scripts/layers.lua).
-- Loaded by whatever a user or Neovim calls first: a command, the autostart, the functions of init.lua.
local bus = require("claude-ide.bus")

require("claude-ide.log").use_level(function()
  return require("claude-ide.config").get().log.level
end)

local function on_call(event)
  if event.type == "call" then
    require("claude-ide.server").note_caller(event.client)
  end
  require("claude-ide.tools").dispatch(event)
end

---What nobody can have asked for yet: what clients say comes through the main loop, which runs this first.
local function attach_the_rest()
  if not require("claude-ide.server").is_running() then
    return
  end
  require("claude-ide.proposal").attach()
  require("claude-ide.journal").attach()
  require("claude-ide.review.signs").attach()
  require("claude-ide.sessions.announce").attach()
  require("claude-ide.language.ready").attach()
  require("claude-ide.tools.availability").attach()
  require("claude-ide.notebook.workspace_python").attach()
  if require("claude-ide.config").get().web.enabled then
    require("claude-ide.web").attach()
  end
  require("claude-ide.update").keep()
end

local function attach()
  require("claude-ide.wake").on({ "call", "cancel" }, on_call)
  require("claude-ide.selection").attach()
  require("claude-ide.diagnostics").attach()
  require("claude-ide.watch").attach() -- what a file becomes from now on is seen
  -- In a turn of its own: the user's keys need not wait for all of it at once.
  vim.schedule(attach_the_rest)
end

bus.on("server_starting", attach)

bus.on("transcript_wanted", function(wanted, opts)
  require("claude-ide.transcript").open(wanted, opts)
end)

bus.on("sessions_changed", function()
  require("claude-ide.statusline").refresh()
end)

bus.on("server_stopped", function()
  require("claude-ide.watch").detach()
end)

-- Somebody may have started the server by its own module, before this one was loaded.
local server = package.loaded["claude-ide.server"]
if type(server) == "table" and server.is_running() then
  attach()
end

return true
