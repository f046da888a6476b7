-- Connects the features: starts those that follow the server or the editor, and dispatches calls of clients. Commands start the others
-- (command/registry.lua). Features know each other only through the event bus, or downwards (scripts/layers.lua).
-- Loaded by every entry point: commands, the autostart, init.lua.
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

---Delay of what the user does not wait for.
local LATER_MS = 300

---Features that no client can need yet: their requests arrive through the main loop, after this.
local function attach_the_rest()
  if not require("claude-ide.server").is_running() then
    return
  end
  require("claude-ide.proposal").attach()
  require("claude-ide.journal").attach()
  require("claude-ide.review.signs").attach()
  require("claude-ide.sessions.announce").attach()
  require("claude-ide.terminal.hook_states").attach()
  for _, context in ipairs({ "unsaved", "user_saves", "new_errors", "with_prompt" }) do
    require("claude-ide.hook_context." .. context).attach()
  end
  require("claude-ide.language.ready").attach()
  require("claude-ide.tools.availability").attach()
  if require("claude-ide.config").get().agents_ide then
    require("claude-ide.context.companions").attach()
  end
  require("claude-ide.notebook.interpreter").attach()
  if require("claude-ide.config").get().web.enabled then
    require("claude-ide.web").attach()
  end
  require("claude-ide.update").keep()
  vim.defer_fn(function()
    require("claude-ide.sessions.background").say()
    require("claude-ide.terminal.remembered").offer()
  end, LATER_MS)
end

local function attach()
  require("claude-ide.wake").on({ "call", "cancel" }, on_call)
  require("claude-ide.selection").attach()
  require("claude-ide.diagnostics").attach()
  require("claude-ide.watch").attach() -- before anything changes on disk
  -- In a later turn, so that keys do not wait for all of it.
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

-- The server may have been started before this module was loaded.
local server = package.loaded["claude-ide.server"]
if type(server) == "table" and server.is_running() then
  attach()
end

return true
