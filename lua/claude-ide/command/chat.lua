-- `:Claude chat`: selects or opens a chat, and passes on the text.
local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local agents = lazy("claude-ide.chat.acp.agents")
local background = lazy("claude-ide.terminal.background")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local catalogue = lazy("claude-ide.sessions.catalogue")
local chats = lazy("claude-ide.chat")
local choose = lazy("claude-ide.ui.choose")
local context_place = lazy("claude-ide.context.place")
local environment = lazy("claude-ide.terminal.environment")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local prompts = lazy("claude-ide.command.prompts")
local restored = lazy("claude-ide.chat.acp.restored")
local retry = lazy("claude-ide.base.retry")
local sessions = lazy("claude-ide.command.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

local FLAGS = { "--resume", "--continue", "--fork", "--new", "--agent" }

---A text and its place.
---@class claude-ide.command.chat.Words
---@field text string
---@field lines? string the range, as a context
---@field at claude-ide.context.At

---@return claude-ide.chat.OpenOpts
local function said(words)
  local both = words.lines and words.text ~= "" and ("%s %s"):format(words.text, words.lines)
  return {
    text = both or words.text,
    begun = not both and words.lines or nil,
    at = words.at,
  }
end

---How long a session's process may take to end.
local PATIENCE_MS = 10000

---@param pid integer
---@param done fun()
local function when_gone(pid, done)
  retry.until_ended({ pid }, PATIENCE_MS, function(has_ended)
    if has_ended then
      return done()
    end
    notice.error("The process that had the session does not end.")
  end)
end

---Resumes a session.
local function go_on(item, fork, words)
  local summary = item.summary
  local live = catalogue.running(summary.id)
  local function open(in_a_copy)
    actions.with_folder(summary, function(cwd)
      local ok, err = chats.open(vim.tbl_extend("force", said(words), {
        resume = summary.id,
        fork = in_a_copy,
        file = summary.file,
        cwd = cwd,
        config_dir = summary.config_dir,
        title = phrases.title(summary),
      }))
      if not ok then
        notice.error(err or "The chat could not be started.")
      end
    end)
  end
  if not live or fork or chats.of_session(summary.id) then
    return open(fork)
  elseif chats.is_leaving(live.pid) then
    return when_gone(live.pid, function()
      open(false)
    end)
  end
  local terminal = terminals.of_session(summary.id)
  -- Two processes that write to one session would fork it.
  local copy = "Continue in a copy"
  local here = (terminal or live.job) and "End it there and continue it here" or "Continue it here too"
  choose.select({ copy, here }, {
    prompt = terminal and "This session runs in the terminal"
      or live.job and "This session runs in the background"
      or ("This session runs in another terminal (pid %d)"):format(live.pid),
  }, function(choice)
    if choice == here and live.job then
      background.stop(live, function()
        open(false)
      end)
    elseif choice == here and terminal then
      terminal:close()
      when_gone(live.pid, function()
        open(false)
      end)
    elseif choice then
      open(choice == copy)
    end
  end)
end

---Ends the chat of a session that the terminal is about to resume.
---@param words string[] arguments for the CLI
local function release(words, done)
  if not package.loaded["claude-ide.chat"] then
    return done()
  end
  for at, word in ipairs(words) do
    local id = word:match("^%-%-resume=(.+)$") or (word == "--resume" or word == "-r") and words[at + 1]
    for _, chat in ipairs(chats.list()) do
      if id == chat.session then
        return chats.release(chat, done)
      end
    end
  end
  done()
end

---Options for the terminal that end the session's chat once the CLI will start.
---@param words string[] arguments for the CLI
---@return claude-ide.terminal.OpenOptions
function M.releasing(words)
  return {
    before = function(done)
      release(words, done)
    end,
  }
end

---@param item? claude-ide.sessions.Item
---@param err? string
local function found(item, err, fork, words)
  if item then
    go_on(item, fork, words)
  else
    notice.error(err or "This project has no sessions yet.")
  end
end

---Opens a chat with an agent other than the CLI.
---@param rest string[] name, optionally `--resume` and a session
---@param after string text after the flag
---@return boolean? ok
---@return string? err
local function with_agent(rest, after, words)
  if not rest[1] then
    return nil, ("`:Claude chat --agent` needs a name: %s."):format(table.concat(agents.names(), ", "))
  end
  local agent, err = agents.get(rest[1])
  if not agent then
    return nil, err
  end
  local session, list ---@type string?, boolean?
  local text = vim.trim(after:sub(#rest[1] + 1))
  if rest[2] == "--resume" then
    session, list, text = rest[3], rest[3] == nil, ""
  end
  words.text = text
  local opts = { agent = agent, resume = session, list = list, title = agent.name }
  if session and #session <= buffer_marks.SHOWN_ID then
    opts = restored.opened(agent, session)
  end
  return chats.open(vim.tbl_extend("force", said(words), opts))
end

---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
local function by_flag(flag, rest, at, words)
  local after = vim.trim(at.rest:sub(#flag + 1))
  if flag == "--agent" then
    return with_agent(rest, after, words)
  elseif flag == "--new" then
    words.text = after
    return chats.open(said(words))
  elseif flag == "--continue" then
    catalogue.load(
      {},
      modifiers.keep(function(items, err)
        words.text = after
        found(items and items[1], err, false, words)
      end)
    )
    return true
  end
  local id = rest[1]
  if not id then
    return nil, ("`:Claude chat %s` needs the id of a session."):format(flag)
  end
  words.text = vim.trim(after:sub(#id + 1))
  catalogue.find(
    id,
    modifiers.keep(function(item, err)
      found(item, err, flag == "--fork", words)
    end)
  )
  return true
end

---The folder of the current chat, or of a new one.
---@param at claude-ide.command.Context
local function folder_of(at)
  local chat = at.rest == "" and chats.current() or nil
  return chat and chat.cwd or environment.folder()
end

---@param words string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.run(words, at)
  local place = context_place.here(folder_of(at))
  local lines, withheld = prompts.reference(at, place.cwd)
  if withheld then
    return nil, withheld
  end
  local said_words = { text = at.rest, lines = lines, at = place } ---@type claude-ide.command.chat.Words
  if words[1] and vim.startswith(words[1], "--") then
    if not vim.list_contains(FLAGS, words[1]) then
      return nil, ("`:Claude chat %s`: expected %s."):format(words[1], table.concat(FLAGS, ", "))
    end
    return by_flag(words[1], vim.list_slice(words, 2), at, said_words)
  elseif words[1] == "restart" and not words[2] then
    local chat = chats.current()
    if not chat then
      return nil, "No chat is open."
    end
    return chat:restart()
  elseif words[1] == "close" and not words[2] then
    local chat = chats.current()
    if not chat then
      return nil, "No chat is open."
    end
    chats.close(chat)
    return true
  elseif at.rest == "" and chats.show(lines) then
    return true
  end
  return chats.open(said(said_words))
end

---@param word string
---@param before string[]
---@return string[]
function M.complete(word, before)
  if #before == 0 then
    return vim.list_extend({ "close", "restart" }, vim.startswith(word, "-") and FLAGS or {})
  elseif before[1] == "--agent" then
    return #before == 1 and agents.names() or #before == 2 and { "--resume" } or {}
  elseif before[1] == "--resume" or before[1] == "--fork" then
    return sessions.complete_id(word, vim.list_slice(before, 2))
  end
  return {}
end

return M
