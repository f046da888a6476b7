-- `:Claude`, `:ClaudeConnect` and `:ClaudeSend`: parses arguments and runs subcommands, which command/registry.lua lists. Errors are
-- one-line notices, with a trace in the log.

local lazy = require("claude-ide.lazy")
local command_terminal = lazy("claude-ide.command.terminal")
local distance = lazy("claude-ide.config.distance")
local log = lazy("claude-ide.base.log")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local server = lazy("claude-ide.command.server")
local terminal = lazy("claude-ide.terminal")
local update = lazy("claude-ide.library.update")
local waits = lazy("claude-ide.base.waits")
local window = lazy("claude-ide.base.window")

require("claude-ide.app")

local M = {}

---@class claude-ide.command.Context
---@field range boolean whether a range was given
---@field first integer first line of the range, from 1
---@field last integer
---@field rest string text after the subcommand, as typed

---@param args vim.api.keyset.create_user_command.command_args
---@return claude-ide.command.Context
local function context(args)
  local rest = vim.trim(args.args:match("^%s*%S+(.*)$") or "")
  return { range = args.range > 0, first = args.line1, last = args.line2, rest = rest }
end

local NO_ROOM = "The screen has no room for another window."

---@param run fun(): any, claude-ide.Notice?
local function guarded(run)
  update.keep()
  vim.defer_fn(update.look, 1) -- takes a millisecond that the command need not wait for
  local ok, result, err = xpcall(run, function(message)
    if tostring(message):find("E36:", 1, true) then
      return NO_ROOM
    end
    log.error("a command failed: %s", debug.traceback(tostring(message), 2))
    local first = tostring(message):gsub("\n.*", "")
    return (first:gsub("^.-:%d+: ", "", 1))
  end)
  if not ok and update.is_outdated() then
    update.tell()
  elseif result == NO_ROOM then
    notice.error(NO_ROOM)
  elseif not ok then
    notice.error(("%s (`:Claude log` has more)"):format(result))
  elseif result == nil and err then
    notice.error(err)
  end
end

---Runs a command that opens a window: not in the mode of the mapping that runs it, in which the window could not take the focus.
---@param run fun(): any, string?
---@return any, string?
local function in_normal_mode(run)
  window.end_visual()
  local mode = vim.api.nvim_get_mode().mode
  if mode ~= "n" and mode ~= "nt" then
    vim.cmd.stopinsert()
  end
  if not mode:find("^[iRt]") then
    return run()
  end
  local go_on = modifiers.keep(guarded)
  vim.schedule(function() -- after the mapping Neovim ends the mode
    go_on(run)
  end)
  return true
end

---@return string? why no window can be opened, entered or closed
local function in_command_line_window()
  return vim.fn.getcmdwintype() ~= "" and waits.why_locked() or nil
end

---@return claude-ide.command.Sub? sub
local function find(word)
  for _, sub in ipairs(require("claude-ide.command.registry")) do
    if sub.name == word then
      return sub
    end
  end
end

local function names()
  return vim.tbl_map(function(sub)
    return sub.name
  end, require("claude-ide.command.registry"))
end

---@param word string
---@return claude-ide.Notice
local function unknown(word)
  local nearest = distance.nearest(word, names())
  local hint = nearest and ("Did you mean `:Claude %s`?"):format(nearest) or "See `:help :Claude`."
  return {
    ("`:Claude %s`: no such subcommand. %s"):format(word, hint),
    ("No such subcommand. %s"):format(hint),
    hint,
  }
end

---Splits a command line like a shell: blanks separate, quotes and backslashes join. Expands nothing.
---@return string[] words
---@return boolean open whether the last word is incomplete
local function split(line)
  local words, word, quote = {}, nil, nil
  local i = 1
  while i <= #line do
    local char = line:sub(i, i)
    if quote then
      if char == quote then
        quote = nil
      else
        word = word .. char
      end
    elseif char == "\\" and line:sub(i + 1, i + 1):match("[%s\"'\\]") then
      word = (word or "") .. line:sub(i + 1, i + 1)
      i = i + 1
    elseif char == '"' or char == "'" then
      word, quote = word or "", char
    elseif char:match("%s") then
      words[#words + 1] = word
      word = nil
    else
      word = (word or "") .. char
    end
    i = i + 1
  end
  words[#words + 1] = word
  return words, word ~= nil
end

---Quotes a word for `split`.
local function escape(word)
  return (word:gsub("[%s\"'\\]", "\\%0"))
end

---@param words? true|string[] true: with any
---@param word? string
---@return boolean
local function is_for(words, word)
  return words == true or words ~= nil and vim.list_contains(words, word)
end

---`:Claude …`
---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local before, is_set = nil, false ---@type claude-ide.ui.Modifiers?, boolean
  guarded(function()
    before, is_set = modifiers.set(args.smods), true
    local words = split(args.args)
    local word = words[1]
    if not word or vim.startswith(word, "-") then
      local why = in_command_line_window()
      if why then
        return nil, why
      elseif not word then
        return terminal.toggle()
      end
      return command_terminal.toggle(words)
    end
    local sub = find(word)
    if not sub then
      return nil, unknown(word)
    end
    local rest = vim.list_slice(words, 2)
    if not sub.args and rest[1] then
      return nil, ("`:Claude %s`: `%s` takes no arguments."):format(table.concat(words, " "), word)
    end
    if sub.choices and rest[1] and (rest[2] or not vim.list_contains(sub.choices, rest[1])) then
      local choices = table.concat(sub.choices, ", "):gsub("(.*), ", "%1 or ")
      return nil, ("`:Claude %s`: expected %s."):format(table.concat(words, " "), choices)
    end
    local run = function()
      return sub.run(rest, context(args))
    end
    local shows = is_for(sub.shows, rest[1])
    local why = (shows or is_for(sub.windows, rest[1])) and in_command_line_window()
    if why then
      return nil, why
    elseif shows then
      return in_normal_mode(run)
    end
    return run()
  end)
  if is_set then
    modifiers.set(before)
  end
end

---`:ClaudeConnect`
function M.connect()
  guarded(function()
    return server.connect()
  end)
end

---`:ClaudeSend`
---@param args vim.api.keyset.create_user_command.command_args
function M.send(args)
  guarded(function()
    return server.send({}, context(args))
  end)
end

---Completion of `:Claude`.
---@param lead string typed part of the word, as split by Neovim
---@param line string the whole command line
---@param cursor integer byte
---@return string[]
function M.complete(lead, line, cursor)
  -- Skip a range and modifiers before the command's name.
  local typed = line:sub(1, cursor):gsub("^.-Claude!?%s*", "", 1)
  local words, is_open = split(typed)
  local word = is_open and table.remove(words) or ""
  local candidates
  if #words == 0 and not vim.startswith(word, "-") then
    candidates = names()
  elseif vim.startswith(word, "-") and (#words == 0 or vim.startswith(words[1], "-")) then
    words = { "open" } -- flags alone are the CLI's
  end
  local sub = not candidates and find(words[1])
  if sub and sub.complete then
    candidates = sub.complete(word, vim.list_slice(words, 2))
  elseif sub and not words[2] then
    candidates = sub.choices
  end
  -- Neovim replaces `lead`, which begins after the last blank, escaped or not.
  local kept = escape(word):sub(1, -#lead - 1)
  return vim
    .iter(candidates or {})
    :filter(function(candidate)
      return vim.startswith(candidate, word)
    end)
    :map(function(candidate)
      return escape(candidate):sub(#kept + 1)
    end)
    :totable()
end

return M
