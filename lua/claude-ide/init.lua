-- The public functions, for other plugins and init.lua. All work without setup().

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local leave = lazy("claude-ide.leave")
local mention = lazy("claude-ide.context.mention")
local proposal = lazy("claude-ide.edits.proposal")
local script = lazy("claude-ide.outbox.script")
local server = lazy("claude-ide.server")
local status = lazy("claude-ide.status")
local terminal = lazy("claude-ide.terminal")

local M = {}

---Sets options. Not needed for the defaults. A second call replaces the first.
---@param opts? claude-ide.Opts
function M.setup(opts)
  config.setup(opts)
  local selection = package.loaded["claude-ide.context.selection"]
  if type(selection) == "table" then
    selection.reconfigure()
  end
end

---The current state. Loads no modules, so it may be called often.
---@return claude-ide.Status
function M.status()
  return status.get()
end

---Starts the server, so that a CLI in any terminal can connect.
---@return { host: string, port: integer, lock_files: string[] }? info
---@return string? err
function M.connect()
  require("claude-ide.app")
  return server.start()
end

---Disconnects Claude and stops the server: |:Claude-disconnect|.
function M.disconnect()
  server.dismiss()
end

---Toggles the terminal; starts the CLI if necessary.
---@param args? string[] arguments for the CLI, e.g. { "--resume" }
function M.toggle(args)
  require("claude-ide.app")
  terminal.toggle(args)
end

---Opens and focuses the terminal.
---@param args? string[]
function M.open(args)
  require("claude-ide.app")
  terminal.open(args)
end

---Focuses the terminal, or returns from it.
function M.focus()
  require("claude-ide.app")
  terminal.focus()
end

---Mentions a file, a folder, or lines of a file to Claude.
---@param path string
---@param first? integer first line, from 1
---@param last? integer last line
function M.mention(path, first, last)
  require("claude-ide.app")
  mention.send_file(path, first, last)
end

---@class claude-ide.PromptOpts
---@field session? string its id; default: that of the current terminal
---@field on_done? fun(err?: string) called once; without an error when Claude has got the prompt

---Sends a prompt to a session, as the user would: once Claude is idle, no request is open, and its prompt is empty. A session that has
---ended is resumed in the terminal. `:Claude board` shows that a prompt waits.
---@param text string
---@param opts? claude-ide.PromptOpts `session`: its id, by default that of the current terminal; `on_done(err)`: called once, without an error when Claude has got the prompt
---@return boolean? ok nil: it cannot get one
---@return string? err
function M.prompt(text, opts)
  require("claude-ide.app")
  return script.prompt(text, opts or {})
end

---Shuts down before the plugin is reloaded (`:Lazy reload` calls this): the new instance knows nothing of the old one. Unsent prompts
---appear in the project's next chat, text typed into a proposal is saved. CLIs reconnect.
function M.deactivate()
  local chats = package.loaded["claude-ide.chat"]
  if type(chats) == "table" then
    chats.close_all()
  end
  leave.for_another()
end

---Accepts the proposal in the current tab page, else the oldest.
---@return boolean? ok nil: not accepted
---@return string? err
function M.accept()
  return proposal.accept()
end

---Rejects the proposal in the current tab page, else the oldest.
---@param reason? string sent to Claude as its next prompt, see |:Claude-reject|
---@return boolean? ok nil: none is waiting
---@return string? err
function M.reject(reason)
  return proposal.reject(nil, reason)
end

---`review`: the functions of `:Claude review`, its keys and `:Claude undo`.
---`sessions`: the functions of `:Claude sessions` and `:Claude grep`.
---`statusline`: short texts of the state, see |claude-ide-statusline|.
---@class claude-ide.Api
---@field review claude-ide.review
---@field sessions claude-ide.sessions.Api
---@field statusline claude-ide.statusline

---@type table<string, fun(): table> loaded on use
local PARTS = {
  review = function()
    return require("claude-ide.edits.review")
  end,
  sessions = function()
    return require("claude-ide.board.api")
  end,
}

return setmetatable(M, {
  __index = function(_, key)
    if key == "statusline" then
      return require("claude-ide.statusline") -- also before anything is used: it loads nothing else
    end
    if PARTS[key] then
      require("claude-ide.app")
      return PARTS[key]()
    end
  end,
})
