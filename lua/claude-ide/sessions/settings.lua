-- Settings of the CLI: the user's, a project's, the computer's. Read from the disk each time; never written.
local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local json_table = lazy("claude-ide.base.json_table")

local M = {}

---Limit of a file.
local MAX_BYTES = 1024 * 1024

---Settings of the computer's administrator, on Linux and macOS.
local MANAGED = {
  "/etc/claude-code/managed-settings.json",
  "/Library/Application Support/ClaudeCode/managed-settings.json",
}

---The files that have settings; a later one takes precedence.
---@param config string configuration folder of the user's
---@param project string
---@return { path: string, settings?: table }[] settings: nil if they cannot be read
function M.read(config, project)
  local paths = {
    config .. "/settings.json",
    project .. "/.claude/settings.json",
    project .. "/.claude/settings.local.json",
  }
  local found = {}
  for _, path in ipairs(vim.list_extend(paths, MANAGED)) do
    local text = vim.trim(file.read_now(path, MAX_BYTES) or "")
    if text ~= "" then
      found[#found + 1] = { path = path, settings = json_table(text) }
    end
  end
  return found
end

return M
