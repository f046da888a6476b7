---@meta
-- Types of several modules. A type of one module is declared there.

---A connected client, as reported by the server.
---@class claude-ide.Client
---@field id integer unique in this Neovim
---@field endpoint "ide"|"nvim"|"companion" nvim: an agent that uses the editor's tools, and gets no notifications; companion: Gemini CLI, Qwen Code
---@field state "connected"|"ready" ready: it has finished the MCP handshake (or is a plain JSON-RPC client) and accepts notifications
---@field name? string clientInfo.name, e.g. "claude-code"
---@field version? string clientInfo.version
---@field pid? integer process id, from `ide_connected`; of a program that we started, as the system shows it (Linux)
---@field run? string name of the program, if we started it: "terminal:1", "chat:1"
---@field protocol? string negotiated MCP version
---@field roots string[] absolute folders from `roots/list`
---@field mapped boolean it sees folders under the paths of `workspace.path_map`
---@field unsupported boolean it takes this version of the plugin for too old (`ide_connected`)

---A request of a client to the editor.
---@class claude-ide.Call
---@field id integer unique in this Neovim; key for respond and cancel
---@field client integer claude-ide.Client.id
---@field name string editor call, snake_case, e.g. "open_diff"; on another endpoint "nvim.definition"
---@field at integer arrival, in Unix milliseconds: Neovim may have been busy since
---@field progress? string|integer progress token, if the client wants reports

---@class claude-ide.CallError
---@field code "invalid_params"|"failed" invalid_params: the caller's mistake; failed: the tool did not succeed
---@field message string for the model or the user

---Answers a call. Only the first use counts; later ones are logged and dropped.
---@alias claude-ide.Respond fun(result?: any, err?: claude-ide.CallError)

---A tool: the field of a module in `lua/claude-ide/tools/` with the call's name.
---@class claude-ide.Tool
---@field run fun(args: table, respond: claude-ide.Respond, call: claude-ide.Call)
---@field cancel? fun(call: claude-ide.Call) the caller is gone: close the call's windows; never respond
