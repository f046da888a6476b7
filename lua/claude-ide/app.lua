-- Connects the features: starts those that follow the server or the editor, and dispatches calls of clients. Commands start the others
-- (command/registry.lua). Rooms know each other only through the event bus, or downwards (scripts/rooms.lua).
-- Loaded by every entry point: commands, the autostart, init.lua.
local bus = require("claude-ide.base.bus")
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.requests.announce")
local availability = lazy("claude-ide.tools.availability")
local background = lazy("claude-ide.terminal.background")
local bridge = lazy("claude-ide.terminal.bridge")
local code_action = lazy("claude-ide.outbox.code_action")
local comments = lazy("claude-ide.comments")
local comments_outbox = lazy("claude-ide.outbox.comments")
local companions = lazy("claude-ide.context.companions")
local complete = lazy("claude-ide.chat.complete")
local config = lazy("claude-ide.config")
local diagnostics = lazy("claude-ide.language.diagnostics")
local hook_states = lazy("claude-ide.terminal.hook_states")
local ide_server = lazy("claude-ide.server")
local interpreter = lazy("claude-ide.notebook.interpreter")
local journal = lazy("claude-ide.edits.journal")
local notice = lazy("claude-ide.base.notice")
local outbox_route = lazy("claude-ide.outbox.route")
local paths = lazy("claude-ide.base.path")
local proposal = lazy("claude-ide.edits.proposal")
local ready = lazy("claude-ide.language.ready")
local refusals = lazy("claude-ide.requests.refusals")
local reminder = lazy("claude-ide.edits.review.reminder")
local remembered = lazy("claude-ide.terminal.remembered")
local safely = lazy("claude-ide.base.safely")
local selection = lazy("claude-ide.context.selection")
local signs = lazy("claude-ide.edits.review.signs")
local statusline = lazy("claude-ide.statusline")
local tools = lazy("claude-ide.tools")
local transcript = lazy("claude-ide.transcript")
local update = lazy("claude-ide.library.update")
local wake = lazy("claude-ide.library.wake")
local watch = lazy("claude-ide.edits.watch")
local web = lazy("claude-ide.web")

require("claude-ide.base.log").use_level(function()
  return config.get().log.level
end)

local function on_call(event)
  if event.type == "call" then
    ide_server.note_caller(event.client)
  end
  tools.dispatch(event)
end

---Delay of what the user does not wait for.
local LATER_MS = 300

---Features that no client can need yet: their requests arrive through the main loop, after this.
local function attach_the_rest()
  if not ide_server.is_running() then
    return
  end
  proposal.attach()
  journal.attach()
  signs.attach()
  reminder.attach()
  announce.attach()
  hook_states.attach()
  bridge.attach()
  refusals.attach()
  for _, context in ipairs({ "unsaved", "user_saves", "new_errors", "with_prompt" }) do
    require("claude-ide.context.hook_context." .. context).attach()
  end
  ready.attach()
  availability.attach()
  code_action.attach()
  comments.attach()
  outbox_route.attach()
  if config.get().agents_ide then
    companions.attach()
  end
  interpreter.attach()
  if config.get().web.enabled then
    web.attach()
  end
  update.keep()
  vim.defer_fn(
    safely.wrap("say what an earlier Neovim left", function()
      background.say()
      remembered.offer()
    end),
    LATER_MS
  )
end

local function attach()
  wake.on({ "call", "cancel" }, on_call)
  selection.attach()
  diagnostics.attach()
  watch.attach() -- before anything changes on disk
  -- In a later turn, so that keys do not wait for all of it.
  vim.schedule(attach_the_rest)
end

bus.on("server_starting", attach)

bus.on("transcript_wanted", function(wanted, opts)
  transcript.open(wanted, opts)
end)

bus.on("comment_opened", function(buf)
  complete.attach(buf, paths.cwd())
end)

bus.on("comments_to_send", function()
  local ok, err = comments_outbox.send()
  if not ok then
    notice.info(err or "")
  end
end)

bus.on("sessions_changed", function()
  statusline.refresh()
end)

bus.on("server_stopped", function()
  watch.detach()
end)

-- The server may have been started before this module was loaded.
local server = package.loaded["claude-ide.server"]
if type(server) == "table" and server.is_running() then
  attach()
end

return true
