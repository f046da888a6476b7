-- Texts that must fit on one line of the screen: Neovim asks for a key after a longer one, and waits for it.

local M = {}

---What went wrong, as many sentences of it as fit, and where the others are.
---@param message string
---@return string
function M.brief(message)
  local line = vim.trim((message:gsub("%s+", " ")))
  local texts, sentences = { line }, vim.split(line, ". ", { plain = true })
  for count = #sentences - 1, 1, -1 do
    texts[#texts + 1] = table.concat(sentences, ". ", 1, count) .. ". `:Claude log` has more."
  end
  local shown = M.fitting(texts)
  if shown ~= message then
    require("claude-ide.log").error("%s", message)
  end
  return shown
end

---The first text that fits, else as much of the last as does.
---@param texts string[] the fullest first
---@return string
function M.fitting(texts)
  local space = vim.v.echospace
  for _, text in ipairs(texts) do
    if vim.fn.strdisplaywidth(text) <= space then
      return text
    end
  end
  local last = texts[#texts]
  local length = vim.fn.strchars(last)
  while length > 0 and vim.fn.strdisplaywidth(last) >= space do
    length = length - 1
    last = vim.fn.strcharpart(last, 0, length)
  end
  return last .. "…"
end

return M
