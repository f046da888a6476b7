-- Runs one request in a headless CLI that can only read files of the project, and returns its answer. No windows, no buffers.
-- Invariant: `done` is called once, unless cancelled. All requests of the CLI are denied.
local lazy = require("claude-ide.lazy")
local chat_program = lazy("claude-ide.chat.program")
local chat_store = lazy("claude-ide.chat.store")
local config = lazy("claude-ide.config")
local transport = lazy("claude-ide.chat.transport")

local M = {}

---Arguments of every such CLI. Measured with the CLI 2.1.329: unnamed tools and those of MCP servers are unavailable, and reading
---outside the project is denied without asking, whatever permissions the command of `terminal` sets.
M.READ_ONLY = {
  "--tools",
  "Read,Grep,Glob",
  "--strict-mcp-config",
  "--permission-mode",
  "dontAsk",
}

---@class claude-ide.inline.Run
---@field number integer of the library
---@field is_over boolean

---@class claude-ide.inline.RunOpts
---@field blocks table[] of the prompt
---@field cwd string
---@field done fun(text?: string, err?: string)

---@param event claude-ide.chat.Event
---@param said string
---@return string? err nil: success
local function problem_of(event, said)
  if event.outcome ~= "done" then
    return event.words or said ~= "" and said or "Claude gave no answer"
  end
end

---@param opts claude-ide.inline.RunOpts
---@return claude-ide.inline.Run?
---@return string? err
function M.start(opts)
  local args = vim.list_extend({ "--no-session-persistence" }, M.READ_ONLY)
  vim.list_extend(args, config.get().ask.args)
  local program, why =
    chat_program.of({ session = chat_program.uuid(), cwd = opts.cwd, args = args, alone = true })
  if not program then
    return nil, why
  end
  local run = { is_over = false } ---@type claude-ide.inline.Run
  local store = chat_store.new()
  local function finish(text, err)
    if not run.is_over then
      M.cancel(run)
      opts.done(text, err)
    end
  end
  ---@type table<string, fun(event: claude-ide.chat.Event)>
  local on = {
    asks = function(event)
      transport.send(run.number, {
        deny = {
          request = event.request,
          message = "This request cannot be shown to the user.",
          interrupt = false,
        },
      })
    end,
    turn = function(event)
      local text = store:answer()
      local err = problem_of(event, text)
      finish(not err and text or nil, err)
    end,
    ended = function(event)
      local words = vim.trim(event.words or "")
      finish(nil, words ~= "" and words or "Claude ended without an answer")
    end,
  }
  local number, err = transport.open({
    program = program,
    backend = "stream_json",
    speaker = "Claude",
    transcript = store:id(),
    take_in = function(event)
      if on[event.type] and not run.is_over and not event.by then
        on[event.type](event)
      end
    end,
    taken_in = function() end,
  })
  if not number then
    return nil, err
  end
  run.number = number
  local ok, not_sent =
    transport.send(number, { prompt = { id = chat_program.uuid(), content = opts.blocks } })
  if not ok then
    M.cancel(run)
    return nil, not_sent
  end
  return run
end

---Cancels a run.
---@param run claude-ide.inline.Run
function M.cancel(run)
  if not run.is_over then
    run.is_over = true
    transport.drop(run.number)
  end
end

return M
