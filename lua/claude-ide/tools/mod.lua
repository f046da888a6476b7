-- The calls of our mod inside of CLIs (mod/hooks/register.js).
local lazy = require("claude-ide.lazy")
local bridge = lazy("claude-ide.terminal.bridge")
local refusals = lazy("claude-ide.requests.refusals")

local M = {}

M.mod_next = {
  ---Waits for the next order to the CLI.
  run = function(_, respond, call)
    bridge.wait(call.client, call.id, respond)
  end,
  cancel = function(call)
    bridge.cancel(call.id)
  end,
}

M.mod_report = {
  ---Takes what a call did, or what an order has brought.
  run = function(args, respond, call)
    bridge.report(call.client, args)
    respond(vim.NIL)
  end,
}

M.mod_refused = {
  ---Tells whether the user shall be asked about a call that auto mode refuses.
  run = function(args, respond)
    refusals.refused(args, respond)
  end,
}

return M
