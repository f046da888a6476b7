-- What other plugins and an init.lua call. Everything here works without setup().

local M = {}

---Takes your options. Not needed for the defaults. A second call replaces the first.
---@param opts? claude-ide.Opts
function M.setup(opts)
  require("claude-ide.config").setup(opts)
  local selection = package.loaded["claude-ide.selection"]
  if type(selection) == "table" then
    selection.reconfigure()
  end
end

---How things stand. Loads nothing that is not in use, so it may be called often.
---@return claude-ide.Status
function M.status()
  return require("claude-ide.status").get()
end

---Starts the server, so that a CLI in any terminal can connect.
---@return { host: string, port: integer, lock_files: string[] }? info
---@return string? err
function M.connect()
  require("claude-ide.app")
  return require("claude-ide.server").start()
end

---Disconnects Claude and stops the server: |:Claude-disconnect|.
function M.disconnect()
  require("claude-ide.server").dismiss()
end

---Shows or hides the terminal; starts the CLI if it does not run.
---@param args? string[] arguments for the CLI, e.g. { "--resume" }
function M.toggle(args)
  require("claude-ide.app")
  require("claude-ide.terminal").toggle(args)
end

---Shows the terminal and goes to it.
---@param args? string[]
function M.open(args)
  require("claude-ide.app")
  require("claude-ide.terminal").open(args)
end

---Goes to the terminal, or back from it.
function M.focus()
  require("claude-ide.app")
  require("claude-ide.terminal").focus()
end

---Mentions a file, a folder, or some of a file's lines to Claude.
---@param path string
---@param first? integer first line, from 1
---@param last? integer last line
function M.mention(path, first, last)
  require("claude-ide.app")
  require("claude-ide.mention").send_file(path, first, last)
end

---Ends what is of ours, for the plugin is about to be loaded anew (`:Lazy reload` calls this): the new one knows nothing of it.
---What is not sent is in the next chat of the project, what was typed into a proposal is kept. CLIs come back by themselves.
function M.deactivate()
  local chats = package.loaded["claude-ide.chat"]
  if type(chats) == "table" then
    chats.close_all()
  end
  require("claude-ide.leave").for_another()
end

---Accepts a proposed edit: the one in this tab page, else the one that has waited longest.
---@return boolean? ok nil: it was not accepted
---@return string? err why not
function M.accept()
  return require("claude-ide.proposal").accept()
end

---Rejects a proposed edit: the one in this tab page, else the one that has waited longest.
---@param reason? string told to Claude as its next prompt, see |:Claude-reject|
---@return boolean? ok nil: none waits
---@return string? err
function M.reject(reason)
  return require("claude-ide.proposal").reject(nil, reason)
end

---The review of what Claude changed: the functions behind `:Claude review`, its keys and `:Claude undo`.
---And its sessions: the functions behind `:Claude sessions` and `:Claude grep`.
---@class claude-ide.Api
---@field review claude-ide.review
---@field sessions claude-ide.sessions.Api

---@type table<string, fun(): table> loaded when they are used
local PARTS = {
  review = function()
    return require("claude-ide.review")
  end,
  sessions = function()
    return require("claude-ide.sessions.api")
  end,
}

return setmetatable(M, {
  __index = function(_, key)
    if PARTS[key] then
      require("claude-ide.app")
      return PARTS[key]()
    end
  end,
})
