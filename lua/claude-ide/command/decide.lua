-- `:Claude decide`: goes to a request that waits for the user, wherever it is shown.
local M = {}

---Width of a line in the list.
local WIDTH = 100

---@param decision claude-ide.Decision
---@return string a line that describes the request
local function label(decision)
  local remote = require("claude-ide.decisions").remote(decision)
  local described = remote and remote.describe(decision) or { title = decision.kind }
  local words = described.text and ("%s: %s"):format(described.title, described.text) or described.title
  if described.files then
    words = "A change to "
      .. vim
        .iter(described.files)
        :map(function(file)
          return vim.fn.fnamemodify(file.path, ":~:.")
        end)
        :join(", ")
  end
  local width = require("claude-ide.width")
  return width.cut(width.printable((words:gsub("%s+", " "))), WIDTH)
end

---@param decision claude-ide.Decision
local function go_to(decision)
  local ok, err = require("claude-ide.decisions").focus(decision)
  if not ok then
    require("claude-ide.ui.notice").warn(err or "It was answered.")
  end
end

---@return boolean? ok
---@return string? err
function M.run()
  local waiting = require("claude-ide.decisions").pending()
  if #waiting == 0 then
    return nil, "Nothing waits for you."
  elseif #waiting == 1 then
    go_to(waiting[1])
  else
    require("claude-ide.ui.choose").select(
      waiting,
      { prompt = "What waits for you", format_item = label },
      function(decision)
        if decision then
          go_to(decision)
        end
      end
    )
  end
  return true
end

return M
