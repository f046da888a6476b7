-- Words that a user wrote for Claude and that cannot be told: they are kept in a register, and the user is told where.
local M = {}

local function has_clipboard()
  return vim.fn.has("clipboard") == 1
end

---@param clipboard boolean
---@return string
local function name_of(clipboard)
  return clipboard and "the clipboard" or 'register "'
end

---Where words would be kept.
---@return string
function M.place()
  return name_of(has_clipboard())
end

---Keeps the words where the user can get at them.
---@param text string
---@return string where
local function keep(text)
  local lines = vim.split(text, "\n", { plain = true })
  vim.fn.setreg('"', lines, "c")
  return name_of(has_clipboard() and pcall(vim.fn.setreg, "+", lines, "c"))
end

---@param text string
---@param ... string what is said before the place where it is: the first that fits
local function keep_and_say(text, ...)
  if vim.trim(text) == "" then
    return
  end
  local where, texts = keep(text), {}
  for _, said in ipairs({ ... }) do
    texts[#texts + 1] = said .. where .. "."
  end
  require("claude-ide.ui.notice").warn(require("claude-ide.ui.one_line").fitting(texts))
end

---Keeps what Claude has written where there is no place for it any more, and says so.
---@param text string
---@param why string a sentence without its end
---@param brief string the same in a few words
function M.keep_answer(text, why, brief)
  local where = ". Claude's text is in "
  keep_and_say(text, why .. where, brief .. where)
end

---Keeps words that cannot be told, and says so.
---@param text string
---@param why string a sentence without its end
function M.give_back(text, why)
  keep_and_say(text, why .. ". Your words are in ", "Not told: your words are in ")
end

return M
