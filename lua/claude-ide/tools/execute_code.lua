-- Runs code in a Jupyter kernel: `notebook/`. Cancelled, it interrupts what runs.
---@type claude-ide.Tool
local M = {}

---@class claude-ide.tool.ExecuteCode.Args
---@field code string
---@field notebook? string absolute
---@field restart? boolean

---@type table<integer, { kernel: claude-ide.notebook.Kernel, run: claude-ide.notebook.Run }> by call
local running = {}

---@param args claude-ide.tool.ExecuteCode.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  local client = require("claude-ide.server").client(call.client)
  ---@type claude-ide.notebook.Run
  local run = {
    code = args.code,
    who = client and client.name or "Claude",
    session = function()
      return require("claude-ide.sessions.ours").of_caller(call.client)
    end,
    restart = args.restart == true,
    done = function(answer, err)
      running[call.id] = nil
      if answer then
        respond({ content = answer.content, is_error = answer.is_error })
      else
        respond(nil, { code = "failed", message = err or "it did not run" })
      end
    end,
  }
  local kernel, err = require("claude-ide.notebook").run(args.notebook, run)
  if not kernel then
    respond(nil, { code = "failed", message = err or "it cannot be run" })
  elseif run.done then
    running[call.id] = { kernel = kernel, run = run }
  end
end

---@param call claude-ide.Call
function M.cancel(call)
  local entry = running[call.id]
  running[call.id] = nil
  if entry then
    entry.kernel:cancel(entry.run)
  end
end

return M
