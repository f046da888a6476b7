-- What a CLI in our terminal tells the library, and asks it: one that starts while sessions are served is given hooks. What it
-- shows while Claude says it, and, where clients may write, what it asks its user.
-- Source: CLI 2.1.330. `MessageDisplay` comes for each batch of whole lines; where nobody answers, nothing is shown of it.
-- `PermissionRequest` comes beside the CLI's own dialog, which stays until one of both is answered; failures of it are silent. Of
-- `--settings` given twice only the last counts, so the user's own stays alone.
-- Invariant: the token stands in no command line, where other users of the machine could read it, and in no environment, which
-- every command of the model inherits. It is of use to that CLI alone.
local M = {}

local SHOW_TIMEOUT_S, ASK_TIMEOUT_S = 2, 3600

---Edits are asked for as diffs of ours.
local NOT_EDITS = "^(?!(Edit|MultiEdit|Write|NotebookEdit)$).*"

---@param command string[]
---@return boolean
local function has_settings(command)
  return vim.iter(command):any(function(word)
    return word == "--settings" or vim.startswith(word, "--settings=")
  end)
end

---@param info claude-ide.web.Info
---@param token string
---@param path string
---@param timeout_s integer
---@return table
local function hook(info, token, path, timeout_s)
  return {
    type = "http",
    url = require("claude-ide.web.url").of(info) .. path,
    headers = { Authorization = "Bearer " .. token },
    timeout = timeout_s,
  }
end

---The arguments by which hooks were given.
---@type string[]
local given = {}

---@param command string[]
---@return string[] argv
local function more(command)
  local native = require("claude-ide.native")
  local info = native.web_info()
  local token = info and not has_settings(command) and native.web_hook_token()
  if not info or not token then
    return {}
  end
  local hooks = { MessageDisplay = { { hooks = { hook(info, token, "api/display", SHOW_TIMEOUT_S) } } } }
  if require("claude-ide.config").get().web.write then
    hooks.PermissionRequest = {
      { matcher = NOT_EDITS, hooks = { hook(info, token, "api/permission", ASK_TIMEOUT_S) } },
    }
  end
  local path = require("claude-ide.file").private(".json", vim.json.encode({ hooks = hooks }))
  if not path then
    return {}
  end
  local argument = "--settings=" .. path
  given[#given + 1] = argument
  return { argument }
end

---Whether a CLI runs that was given them. It believes who answers at their address: nobody else may listen there.
---@return boolean
function M.is_asked_from()
  return vim.iter(given):any(require("claude-ide.terminal").has_given)
end

---CLIs that start from now on tell and ask, as long as sessions are served.
function M.attach()
  require("claude-ide.terminal").start_with("web", more)
end

return M
