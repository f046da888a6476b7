-- `:Claude prompt`: pastes a text with its context into the prompt of the CLI in our terminal. The user submits it.
-- Invariant: nothing is typed while the CLI works or asks: a key could answer a question.
local lazy = require("claude-ide.lazy")
local context = lazy("claude-ide.context")
local file_window = lazy("claude-ide.ui.file_window")
local kept_words = lazy("claude-ide.ui.kept_words")
local prompt = lazy("claude-ide.terminal.prompt")
local prompts = lazy("claude-ide.context.prompts")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

---Why nothing can be pasted now.
---@param terminal? claude-ide.terminal.Session default: the one that prompts go to
---@return string?
function M.problem(terminal)
  terminal = terminal or terminals.current()
  local buf = terminal and terminal:bufnr()
  if not terminal or not buf then
    return "No CLI runs in the terminal of `:Claude`: `:Claude open` starts it."
  end
  sessions.attach()
  local live = terminal:live()
  local is_idle ---@type boolean?
  if live then
    is_idle = live.state.activity == "idle"
  else
    is_idle = prompt.is_shown(buf)
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
    pieces[#pieces + 1] = context.written(part)
  end
  return table.concat(pieces, "\n\n")
end

---@param text string
---@param at claude-ide.context.At
---@return boolean? ok
---@return string? err
function M.put(text, at)
  local words, missing = prompts.expand(text, at.cwd)
  if not words then
    return nil, missing
  end
  local terminal = terminals.current()
  context.expand(words, at, function(parts)
    local all, problem = whole(words, parts)
    problem = problem or M.problem(terminal)
    local buf = terminal and terminal:bufnr()
    local is_put = all and buf and not problem and prompt.paste(buf, all)
    if not is_put then
      local why = (problem or "The terminal does not accept input"):gsub("%.$", "")
      return kept_words.give_back(text, why)
    end
    if terminal and file_window.may_focus() then
      terminals.show(terminal)
    end
  end)
  return true
end

return M
