-- `:Claude ask`, `prompt` and `edit`. They apply to the range or, called by `<Cmd>` in Visual mode, the selected
-- lines.
local lazy = require("claude-ide.lazy")
local ask = lazy("claude-ide.chat.inline.ask")
local context = lazy("claude-ide.context")
local context_lines = lazy("claude-ide.context.lines")
local context_place = lazy("claude-ide.context.place")
local edit = lazy("claude-ide.chat.inline.edit")
local environment = lazy("claude-ide.terminal.environment")
local kept_words = lazy("claude-ide.ui.kept_words")
local path = lazy("claude-ide.base.path")
local selected_lines = lazy("claude-ide.ui.selected_lines")
local terminal_prompt = lazy("claude-ide.chat.inline.terminal_prompt")

local M = {}

---The range of a command, or the selection.
---@param at claude-ide.command.Context
---@return integer? first nil: neither
---@return integer? last
function M.lines_of(at)
  if at.range then
    return math.min(at.first, at.last), math.max(at.first, at.last)
  elseif vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    return selected_lines()
  end
  return nil
end

---The lines as a reference: `#lines:lua/a.lua:3-9`.
---@param at claude-ide.command.Context
---@param cwd string
---@return string? reference nil: no lines, or withheld
---@return string? why reason if withheld
function M.reference(at, cwd)
  local first, last = M.lines_of(at)
  if not first or not last then
    return nil
  end
  local buf = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name ~= "" and not path.is_plain(name) then
    return nil, "This buffer has no file, so its lines cannot be sent."
  end
  local withheld = context_place.withheld(buf)
  if withheld then
    return nil, withheld .. "."
  end
  return context_lines.reference(buf, first, last, cwd)
end

---Runs `run` with typed text, or asks for a text. A text that cannot be used is saved to a register.
---@param run fun(words: string): boolean?, string?
---@return boolean? ok
---@return string? err
local function with_words(typed, prompt, run)
  if typed ~= "" then
    return run(typed)
  end
  vim.ui.input({ prompt = prompt }, function(text)
    text = vim.trim(text or "")
    local ok, err = true, nil ---@type boolean?, string?
    if text ~= "" then
      ok, err = run(text)
    end
    if not ok then
      local why = (err or "Claude did not start"):gsub("%.$", "")
      kept_words.give_back(text, why)
    end
  end)
  return true
end

---@param at claude-ide.command.Context
---@param say fun(text: string, place: claude-ide.context.At): boolean?, string?
---@return boolean? ok
---@return string? err
local function say_about_lines(at, prompt, say)
  local place = context_place.here(environment.folder())
  local lines, withheld = M.reference(at, place.cwd)
  if withheld then
    return nil, withheld
  end
  return with_words(at.rest, prompt, function(text)
    return say(lines and ("%s %s"):format(text, lines) or text, place)
  end)
end

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.ask(_, at)
  return say_about_lines(at, "Ask Claude: ", ask.ask)
end

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.prompt(_, at)
  local why = terminal_prompt.problem()
  if why then
    return nil, why
  end
  return say_about_lines(at, "Insert into Claude's prompt: ", terminal_prompt.put)
end

---@param typed string instruction
---@param done? fun(what: string) called with the instruction
function M.edit_lines(typed, first, last, done)
  local buf = vim.api.nvim_get_current_buf()
  return with_words(typed, "Edit: ", function(what)
    if done then
      done(what)
    end
    return edit.start(buf, first, last, what)
  end)
end

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.edit(_, at)
  if at.rest == "cancel" and not at.range then
    return edit.cancel()
  end
  local first, last = M.lines_of(at)
  return M.edit_lines(at.rest, first or 1, last or vim.api.nvim_buf_line_count(0))
end

---Completes `#…`.
---@param word string
---@return string[]
function M.complete(word)
  local cwd = environment.folder()
  local items, from = context.complete(word, cwd)
  local lead = from and word:sub(1, from - 1) or ""
  return vim.tbl_map(function(item)
    return lead .. item.word
  end, items or {})
end

---@param word string
---@return string[]
function M.complete_edit(word)
  return vim.list_extend(M.complete(word), { "cancel" })
end

return M
