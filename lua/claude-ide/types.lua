---@meta
-- Types that more than one module speaks of. A type that belongs to one module is declared there.

---One connected CLI, as the server reports it.
---@class claude-ide.Client
---@field id integer unique for the life of this Neovim
---@field endpoint "ide"|"nvim" nvim: an agent that uses the editor's tools, which is told nothing of its own accord
---@field state "connected"|"ready" ready: it finished the MCP handshake (or is a plain JSON-RPC client) and takes notifications
---@field name? string clientInfo.name, e.g. "claude-code"
---@field version? string clientInfo.version
---@field pid? integer process id, from `ide_connected`
---@field run? string which of the programs that we started it is: "terminal:1", "chat:1"
---@field protocol? string negotiated MCP version
---@field roots string[] absolute folders the client works in, from `roots/list`

---One request that a client made and that the editor answers.
---@class claude-ide.Call
---@field id integer unique for the life of this Neovim; the key for respond and cancel
---@field client integer claude-ide.Client.id
---@field name string editor call, snake_case, e.g. "open_diff"; of an endpoint of its own "nvim.definition"
---@field at integer when it came, in milliseconds since the epoch: Neovim may have been busy since
---@field progress? string|integer the token of its progress, where the client wants to hear of that

---@class claude-ide.CallError
---@field code "invalid_params"|"failed" invalid_params: the caller's mistake; failed: the tool ran and did not succeed
---@field message string for the model or the user to read

---Answers a call. Only the first use counts; later ones are logged and dropped.
---@alias claude-ide.Respond fun(result?: any, err?: claude-ide.CallError)

---What a module of `lua/claude-ide/tools/` has by the name of a call.
---@class claude-ide.Tool
---@field run fun(args: table, respond: claude-ide.Respond, call: claude-ide.Call)
---@field cancel? fun(call: claude-ide.Call) the caller is gone: tear down what the call put on the screen; never respond
