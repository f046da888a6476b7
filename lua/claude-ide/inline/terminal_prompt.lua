-- `:Claude prompt`: pastes a text with its context into the prompt of the CLI in our terminal. The user submits it.
-- Invariant: nothing is typed while the CLI works or asks: a key could answer a question.
local M = {}

---Why nothing can be pasted now.
---@param terminal? claude-ide.terminal.Session default: the one that prompts go to
---@return string?
function M.problem(terminal)
  terminal = terminal or require("claude-ide.terminal").current()
  local buf = terminal and terminal:bufnr()
  if not terminal or not buf then
    return "No CLI runs in the terminal of `:Claude`: `:Claude open` starts it."
  end
  require("claude-ide.sessions").attach()
  local live = terminal:live()
  local is_idle ---@type boolean?
  if live then
    is_idle = live.state.activity == "idle"
  else
    is_idle = require("claude-ide.terminal.prompt").is_shown(buf)
  end
  return not is_idle and "Claude is not at its prompt: it works or waits for an answer." or nil
end

---@param text string
---@param parts claude-ide.context.Part[]
---@return string? text
---@return string? problem
local function whole(text, parts)
  local pieces = { text }
  for _, part in ipairs(parts) do
    if part.name == "image" then
      return nil, "A picture cannot be put there: Ctrl-V in the terminal takes the clipboard's."
    end
    pieces[#pieces + 1] = require("claude-ide.context").written(part)
  end
  return table.concat(pieces, "\n\n")
end

---@param text string
---@param at claude-ide.context.At
---@return boolean? ok
---@return string? err
function M.put(text, at)
  local context = require("claude-ide.context")
  local words, missing = require("claude-ide.context.prompts").expand(text, at.cwd)
  if not words then
    return nil, missing
  end
  local terminal = require("claude-ide.terminal").current()
  context.expand(words, at, function(parts)
    local all, problem = whole(words, parts)
    problem = problem or M.problem(terminal)
    local buf = terminal and terminal:bufnr()
    local is_put = all and buf and not problem and require("claude-ide.terminal.prompt").paste(buf, all)
    if not is_put then
      local why = (problem or "The terminal does not accept input"):gsub("%.$", "")
      return require("claude-ide.ui.kept_words").give_back(text, why)
    end
    if terminal and require("claude-ide.ui.file_window").may_focus() then
      require("claude-ide.terminal").show(terminal)
    end
  end)
  return true
end

return M
