-- `:Claude hooks`: lets a CLI in another terminal ask in this Neovim, too.
local lazy = require("claude-ide.lazy")
local hooks = lazy("claude-ide.terminal.hooks")
local notice = lazy("claude-ide.base.notice")
local text_float = lazy("claude-ide.ui.text_float")

local M = {}

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  if words[1] then
    local path, err = hooks.keep(words[1] == "write")
    if not path then
      return nil, err
    end
    local said = words[1] == "write"
        and "Hooks written to %s. A `claude` started in this project now asks here, too."
      or "Hooks removed from %s."
    notice.info(said:format(vim.fn.fnamemodify(path, ":~:.")))
    return true
  end
  local json, err = hooks.settings()
  if not json then
    return nil, err
  end
  local text = (
    "`:Claude hooks write` puts this into `.claude/settings.local.json`. For one run:\n"
    .. "`claude --ide --settings '…'`\n\n```json\n%s```"
  ):format(json)
  text_float.show(text, "Hooks for a claude in another terminal")
  return true
end

return M
