-- What Claude says in our terminal while it says it: a CLI that starts while sessions are served is given a hook that tells the
-- library what it shows.
-- Source: CLI 2.1.329. `MessageDisplay` comes for each batch of whole lines; where nobody answers, nothing is shown of it. Of
-- `--settings` given twice only the last counts, so the person's own stays alone.
local M = {}

local VARIABLE = "CLAUDE_IDE_DISPLAY_TOKEN"
local TIMEOUT_S = 2

---@param command string[]
---@return boolean
local function has_settings(command)
  return vim.iter(command):any(function(word)
    return word == "--settings" or vim.startswith(word, "--settings=")
  end)
end

---@param command string[]
---@return string[] argv
---@return table<string, string> env
local function more(command)
  local info = require("claude-ide.native").web_info()
  if not info or has_settings(command) then
    return {}, {}
  end
  local hook = {
    type = "http",
    url = require("claude-ide.web.url").of(info) .. "api/display",
    headers = { Authorization = ("Bearer ${%s}"):format(VARIABLE) },
    allowedEnvVars = { VARIABLE },
    timeout = TIMEOUT_S,
  }
  local settings = { hooks = { MessageDisplay = { { hooks = { hook } } } } }
  return { "--settings=" .. vim.json.encode(settings) }, { [VARIABLE] = info.display }
end

---CLIs that start from now on tell what they show, as long as sessions are served.
function M.attach()
  require("claude-ide.terminal").start_with("web", more)
end

return M
