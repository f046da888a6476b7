-- Texts for the clipboard, or a register where there is none: copies, and what can no longer be sent or shown.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local width = lazy("claude-ide.base.width")

local M = {}

local function has_clipboard()
  return vim.fn.has("clipboard") == 1
end

local function name_of(clipboard)
  return clipboard and "the clipboard" or 'register "'
end

---Name of the register that `keep` writes to.
---@return string
function M.place()
  return name_of(has_clipboard())
end

---Saves the text to the unnamed register and the clipboard.
---@param lines string[]
---@param how "c"|"l" words, or whole lines
---@return string where
function M.keep(lines, how)
  vim.fn.setreg('"', lines, how)
  return name_of(has_clipboard() and pcall(vim.fn.setreg, "+", lines, how))
end

---Copies a text for other programs: registers stay as they are if there is a clipboard.
---@param text string
---@return string where
function M.copy(text)
  local has_it = has_clipboard() and pcall(vim.fn.setreg, "+", text)
  if not has_it then
    vim.fn.setreg('"', text)
  end
  return name_of(has_it)
end

---@param lines string[]
---@param how "c"|"l"
---@param ... string sentence before the register's name: the first that fits
local function keep_and_say(lines, how, ...)
  if vim.trim(table.concat(lines)) == "" then
    return
  end
  local where, texts = M.keep(lines, how), {}
  for _, said in ipairs({ ... }) do
    texts[#texts + 1] = said .. where .. "."
  end
  notice.warn(one_line.fitting(texts))
end

---Saves whole lines of Claude's whose place is gone.
---@param lines string[]
---@param why string a sentence without its full stop
---@param brief string a shorter version
function M.keep_answer(lines, why, brief)
  local where = ". Claude's text is in "
  keep_and_say(lines, "l", why .. where, brief .. where)
end

---Cells of a reason that say more than that something was not sent.
local LEAST_REASON = 24

---Saves a user's text that cannot be sent.
---@param text string
---@param why string a sentence without its full stop
function M.give_back(text, why)
  local where = ". Your text is in "
  local room = vim.v.echospace - width.of(where .. M.place() .. ".")
  local brief = room >= LEAST_REASON and width.cut((why:gsub("%s+", " ")), room) .. where or nil
  keep_and_say(
    vim.split(text, "\n", { plain = true }),
    "c",
    why .. where,
    brief or "Not sent: your text is in "
  )
end

return M
