---@meta
-- What a chat with an agent of the Agent Client Protocol knows beside what every chat knows.

---An agent as the option `agents` has it.
---@class claude-ide.config.Agent
---@field cmd string[] program and arguments
---@field env? table<string, string> variables beside those of this Neovim
---@field name? string what you call it

---@class claude-ide.chat.acp.Agent : claude-ide.config.Agent
---@field key string its name among the options
---@field name string
---@field hint? string how it is installed

---What only the protocol has.
---@class claude-ide.chat.acp.State
---@field agent claude-ide.chat.acp.Agent
---@field list? boolean|string its sessions are listed first; a string: to go on with the one whose id begins so
---@field give_way? fun(session: string): boolean shows the chat that has the session instead of this one, if there is one
---@field accepted table<string, claude-ide.chat.acp.Accepted> by path
---@field absent table<string, true> files that were refused in this turn before there were any
---@field written table<string, claude-ide.chat.acp.Written> files that were written after a review, by path
---@field turn_began? number seconds since the epoch
---@field signing_in? table what it was last asked to sign in with
---@field signed_in? table what let it in: kept while the chat lives, for the agent that is started anew
---@field terminals table<string, claude-ide.chat.acp.Terminal>
---@field outputs table<string, string> the end of what released terminals have shown
---@field last_terminal integer

---@class claude-ide.chat.acp.Terminal
---@field id string
---@field buf integer
---@field job? integer nil: it ended
---@field group? integer of the library: its process and what that started
---@field output claude-ide.chat.acp.Output
---@field code? integer its process ended with that
---@field drained? boolean all of its output is there
---@field exit? { exitCode?: integer, signal?: string }
---@field killed? boolean
---@field waiting fun()[] who waits for its end
