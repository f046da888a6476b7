-- `:Claude ask` and `:Claude prompt`: what is said, with the lines of the range, to whom.
local M = {}

---@param at claude-ide.command.Context
---@param prompt string asks the user for what is missing
---@param say fun(text: string, place: claude-ide.context.At): boolean?, string?
---@return boolean? ok
---@return string? err
local function with_words(at, prompt, say)
  local place = require("claude-ide.context.place").here(require("claude-ide.chat.program").folder())
  local lines, withheld = require("claude-ide.command.range").reference(at, place.cwd)
  if withheld then
    return nil, withheld
  end
  local function both(text)
    return say(lines and ("%s %s"):format(text, lines) or text, place)
  end
  if at.rest ~= "" then
    return both(at.rest)
  end
  vim.ui.input({ prompt = prompt }, function(text)
    if text and vim.trim(text) ~= "" then
      local ok, err = both(vim.trim(text))
      if not ok and err then
        require("claude-ide.ui.kept_words").give_back(text, (err:gsub("%.$", "")))
      end
    end
  end)
  return true
end

---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.ask(at)
  return with_words(at, "Ask Claude: ", function(text, place)
    return require("claude-ide.inline.ask").ask(text, place)
  end)
end

---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.prompt(at)
  local why = require("claude-ide.inline.terminal_prompt").problem()
  if why then
    return nil, why
  end
  return with_words(at, "Put at Claude's prompt: ", function(text, place)
    return require("claude-ide.inline.terminal_prompt").put(text, place)
  end)
end

return M
