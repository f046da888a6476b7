-- Fits texts on one line of the message area, since Neovim asks for a key after a longer one.

local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local width = lazy("claude-ide.base.width")

local M = {}

local function on_one_line(text)
  return vim.trim((text:gsub("%s+", " ")))
end

---As many whole sentences of a notice as fit; the log has the rest.
---@param message string
---@param level "info"|"warn"|"error"
---@return string
function M.brief(message, level)
  local line = on_one_line(message)
  local texts, sentences = { line }, vim.split(line, ". ", { plain = true })
  local way = log.writes(level) and ". `:Claude log` has more." or ". …"
  for count = #sentences - 1, 1, -1 do
    texts[#texts + 1] = table.concat(sentences, ". ", 1, count) .. way
  end
  local shown = M.fitting(texts)
  if shown ~= line then
    log[level]("%s", message)
  end
  return shown
end

---The beginning of a text, in whole sentences if one fits, and without a part of a command.
---@param text string
---@param space integer
---@return string
local function cut(text, space)
  local sentences = vim.split(text, ". ", { plain = true })
  for count = #sentences - 1, 1, -1 do
    local beginning = table.concat(sentences, ". ", 1, count) .. "."
    if width.of(beginning) <= space then
      return beginning
    end
  end
  local kept = width.cut(text, space)
  local _, marks = kept:gsub("`", "")
  local before = marks % 2 == 1 and width.of(text) > space and kept:match("^(.*[^%s%p])[^`]*`[^`]*$")
  return before and before .. "…" or kept
end

---The first text that fits, else the last one cut.
---@param texts string[] the longest first
---@return string
function M.fitting(texts)
  local space = vim.v.echospace
  for _, text in ipairs(texts) do
    text = on_one_line(text)
    if vim.fn.strdisplaywidth(text) <= space then
      return text
    end
  end
  return cut(on_one_line(texts[#texts]), space)
end

---Variants of a text about a file: with its full path, its path with short folders, its name.
---@param path string
---@param formats string[] the longest first, each with one `%s` for the file
---@return string[] texts for `fitting`
function M.of_file(path, formats)
  local full = vim.fn.fnamemodify(path, ":~:.")
  local texts = {}
  for _, name in ipairs({ full, vim.fn.pathshorten(full), vim.fs.basename(full) }) do
    for _, format in ipairs(formats) do
      texts[#texts + 1] = (format:gsub("%%s", { ["%s"] = vim.fn.strtrans(name) }))
    end
  end
  return texts
end

return M
