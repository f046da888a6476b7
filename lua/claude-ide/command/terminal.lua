-- `:Claude open`, `toggle`, `new` and `close`: arguments of the terminal's CLI, and names of terminals.
-- Invariant: no word is sent to Claude or dropped because a text was not quoted. The CLI takes one word as its prompt, and no more. After
-- two dashes the words are its own.
local lazy = require("claude-ide.lazy")
local chat = lazy("claude-ide.command.chat")
local terminal = lazy("claude-ide.terminal")

local M = {}

---@param command string
---@param words string[]
---@return string err
local function unquoted(command, words)
  local text = table.concat(words, " ")
  return ('`:Claude %s %s`: quote text with spaces: "%s".'):format(command, text, text)
end

---@param word? string
---@return boolean
local function is_one_word(word)
  return word ~= nil and not word:find("^%-") and not word:find("%s")
end

---@param words string[]
---@return string[]
local function without_dashes(words)
  return words[1] == "--" and vim.list_slice(words, 2) or words
end

---@param command "open"|"toggle"
local function show(command, words)
  if words[2] and is_one_word(words[1]) then
    return nil, unquoted(command, words)
  end
  local args = without_dashes(words)
  terminal[command](args, chat.releasing(args))
  return true
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.open(words)
  return show("open", words)
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.toggle(words)
  return show("toggle", words)
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.new(words)
  local name, args = nil, words ---@type string?, string[]
  if words[1] and not vim.startswith(words[1], "-") then
    name, args = words[1], vim.list_slice(words, 2)
  end
  if name and vim.trim(name) == "" then
    return nil, "`:Claude new`: the name is empty."
  elseif name and is_one_word(args[1]) then
    return nil, unquoted("new", words)
  end
  args = without_dashes(args)
  local options = chat.releasing(args)
  options.name = name
  terminal.new(args, options)
  return true
end

---@param name string
---@return claude-ide.terminal.Session[]
local function named(name)
  return vim.tbl_filter(function(session)
    return session:name() == name or session.spec.title == name
  end, terminal.list())
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.close(words)
  local name = table.concat(words, " ")
  if name == "" then
    return terminal.close() or nil, "Claude is not running in Neovim's terminal."
  end
  local found = named(name)
  if #found ~= 1 then
    local why = #found == 0 and "no terminal has that name" or "several terminals have that name"
    return nil, ("`:Claude close %s`: %s."):format(name, why)
  end
  found[1]:close()
  return true
end

---@param _ string
---@param before string[]
---@return string[]
function M.complete(_, before)
  return before[1] and {} or vim.tbl_map(function(session)
    return session:name()
  end, terminal.list())
end

return M
