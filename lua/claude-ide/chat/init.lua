-- Chats with agents in this Neovim: the public functions.
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.requests.announce")
local asks = lazy("claude-ide.chat.asks")
local at_exit = lazy("claude-ide.base.at_exit")
local card = lazy("claude-ide.requests.card")
local catalogue = lazy("claude-ide.sessions.catalogue")
local chat_chat = lazy("claude-ide.chat.chat")
local content = lazy("claude-ide.chat.content")
local history = lazy("claude-ide.chat.history")
local modifiers = lazy("claude-ide.ui.modifiers")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local open_prompts = lazy("claude-ide.chat.open_prompts")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local process = lazy("claude-ide.base.process")
local prompt = lazy("claude-ide.chat.prompt")
local record = lazy("claude-ide.chat.record")
local safely = lazy("claude-ide.base.safely")
local terminal = lazy("claude-ide.terminal")
local transcript = lazy("claude-ide.transcript")
local typing = lazy("claude-ide.ui.guard.typing")
local windows = lazy("claude-ide.chat.windows")

local M = {}

---Milliseconds until the next tick.
local NEXT_MS = 1
---How long a chat waits for its earlier messages to be shown.
local FIRST_MS = 500

---@type claude-ide.chat.Shown[] most recently shown last
local chats = {}

---Processes that are about to exit.
---@type table<integer, true>
local leaving = {}

---Whether a process belonged to a closed chat: it exits in a moment.
---@param pid integer
---@return boolean
function M.is_leaving(pid)
  return leaving[pid] == true
end

---@param chat claude-ide.chat.Chat
---@return claude-ide.chat.Shown?, integer?
local function find(chat)
  for at, shown in ipairs(chats) do
    if shown.chat == chat then
      return shown, at
    end
  end
end

---The chats, most recently shown last.
---@return claude-ide.chat.Chat[]
function M.list()
  return vim.tbl_map(function(shown)
    return shown.chat
  end, chats)
end

local function on_change(chat)
  local shown = find(chat)
  if shown then
    windows.refresh(shown)
    prompt.note_queue(chat)
  end
end

---Runs one step per tick. Each is scheduled by the previous one: timers that are due together run in one tick.
---@param steps (fun())[]
---@param at integer
local function in_turns(steps, at)
  vim.defer_fn(function()
    if steps[at + 1] then
      in_turns(steps, at + 1)
    end
    safely.wrap("begin a chat", steps[at])()
  end, NEXT_MS)
end

---Hides chats if there is no room for them beside a window that is about to be opened at their side of the screen.
---@param shown? claude-ide.chat.Shown the one to open; nil: a terminal
local function hide_chats(shown)
  for _, other in ipairs(chats) do
    if other ~= shown and windows.is_shown(other) and not windows.has_room(shown) then
      windows.hide(other)
    end
  end
end

---If there is no room for two chats, or for a chat and a terminal, the new one replaces the other.
---@param shown claude-ide.chat.Shown
local function make_room(shown)
  hide_chats(shown)
  local terminals = package.loaded["claude-ide.terminal"]
  if type(terminals) == "table" and not windows.has_room(shown) then
    terminals.make_room()
  end
end

---@param shown claude-ide.chat.Shown
---@param done? fun() called when its transcript exists
local function show(shown, done)
  local _, at = find(shown.chat)
  if at then
    table.remove(chats, at)
    chats[#chats + 1] = shown
  end
  if not modifiers.opens_tab() then
    make_room(shown)
  end
  windows.show(shown)
  in_turns({
    function()
      native.load() -- milliseconds, once
    end,
    function()
      windows.fill(shown)
    end,
    done or function() end,
  }, 1)
end

local attach = require("claude-ide.base.once")(function()
  typing.listen()
  own.also(function()
    local running = {} ---@type claude-ide.sessions.Other[]
    for _, shown in ipairs(chats) do
      local chat = shown.chat
      if chat.pid then
        local visible = windows.is_shown(shown)
        running[#running + 1] = {
          id = chat.session,
          pid = chat.pid,
          run = chat.run,
          name = (chat.source:first_words() or {}).name,
          visible = visible,
          requester = chat.requester,
          cost = chat.cost,
          mode = chat.mode,
          journal = record.client(chat),
          show = function()
            M.show(nil, chat)
          end,
          release = function(done)
            M.release(chat, done)
          end,
        }
      end
    end
    return running
  end)
  at_exit("drafts", function()
    prompt.keep_drafts()
  end)
end)

---Starts the agent and the rest of a shown chat, one step per tick, so that the prompt accepts keys meanwhile.
---@param shown claude-ide.chat.Shown
---@return fun() is_there to call when its transcript exists
local function begin(shown)
  local steps = {
    function()
      local chat = shown.chat
      attach()
      local ok, err = false, nil ---@type boolean?, string?
      if not chat.closing then
        ok, err = chat:begin()
      end
      if not ok then
        content.return_all(chat, chat.queue)
      end
      if not ok and not chat.closing then
        notice.error(err or "The chat could not be started.")
        M.close(chat)
      end
    end,
    function()
      prompt.set_window_options(shown.prompt)
    end,
    function()
      announce.attach()
    end,
  }
  local is_there, was_said, has_begun = false, false, false
  local function go_on()
    if is_there and was_said and not has_begun then
      has_begun = true
      in_turns(steps, 1)
    end
  end
  -- Earlier messages come first, as fast as in a transcript.
  shown.chat.source:when_shown(function()
    was_said = true
    go_on()
  end)
  vim.defer_fn(function()
    is_there, was_said = true, true
    go_on()
  end, FIRST_MS)
  return function()
    is_there = true
    go_on()
  end
end

---@param chat claude-ide.chat.Chat
---@return integer buf
local function new_prompt(chat)
  return prompt.create(chat, {
    hide = function()
      M.hide(chat)
    end,
    to_terminal = function()
      M.to_terminal(chat)
    end,
  })
end

---@param chat claude-ide.chat.Chat
---@param begun? string added to its prompt
local function show_again(chat, begun)
  local shown = find(chat) --[[@as claude-ide.chat.Shown]]
  if not open_prompts.of(shown.prompt) then
    own_buffer.delete(shown.prompt) -- `:bdelete` leaves it empty, without its keys
    shown.prompt = new_prompt(shown.chat)
    prompt.set_window_options(shown.prompt)
  end
  show(shown)
  if begun then
    prompt.add(shown.prompt, begun)
  end
  card.focus()
end

---The chat that has a session, or is about to go on with it: another one would leave it with two ends, of which each process knows
---only its own.
---@param session string
---@param keeper? string the agent that keeps it; default: Claude
---@param but? claude-ide.chat.Chat excluded
---@return claude-ide.chat.Chat?
function M.of_session(session, keeper, but)
  return vim.iter(M.list()):find(function(chat)
    return chat ~= but
      and chat.state ~= "ended"
      and chat.keeper == (keeper or "claude")
      and (chat.session == session or chat.wanted == session)
  end)
end

---Why an ended chat cannot resume its session.
---@param chat claude-ide.chat.Chat
---@return string? why
local function elsewhere(chat)
  if M.of_session(chat.session, chat.keeper, chat) then
    return "This session is open in another chat."
  end
  local live = chat.is_cli and catalogue.running(chat.session)
  if live then
    return ("This session now runs in another terminal (pid %d)."):format(live.pid)
  end
end

---Shows the chat that has a session instead of one that was to go on with it, with what was said here meanwhile and what stands at
---the prompt.
---@param chat claude-ide.chat.Chat
---@param session string
---@return boolean there is one
local function give_way(chat, session)
  local there = M.of_session(session, chat.keeper, chat)
  if not there then
    return false
  end
  local said = chat.queue
  chat.queue = {}
  content.return_all(chat, said)
  M.close(chat)
  show_again(there)
  local draft = history.take_draft(there.cwd)
  if draft and there.give_back then
    there.give_back(draft)
  end
  return true
end

---@class claude-ide.chat.OpenOpts
---@field text? string sent at once
---@field at? claude-ide.context.At the user's position
---@field begun? string added to its prompt
---@field resume? string session to resume
---@field fork? boolean resume a copy of it
---@field file? string its transcript
---@field cwd? string
---@field title? string
---@field args? string[] more arguments for the CLI
---@field agent? claude-ide.chat.acp.Agent nil: the CLI
---@field list? boolean|string choose one of the agent's sessions first, or take the one whose id begins like this

---Opens a chat, or shows the one that has the session and sends the text there.
---@param opts? claude-ide.chat.OpenOpts
---@return boolean? ok
---@return string? err
function M.open(opts)
  opts = opts or {}
  local session = not opts.fork and (opts.resume or opts.list)
  local there = type(session) == "string" and M.of_session(session, (opts.agent or {}).key)
  local chat, err ---@type claude-ide.chat.Chat?, string?
  if there then
    show_again(there, opts.begun)
    return M.say(there, opts.text, opts.at)
  end
  local begin_with = vim.tbl_extend("force", opts, {
    elsewhere = elsewhere,
    give_way = give_way,
    on_change = function()
      if chat then
        on_change(chat)
      end
    end,
  })
  chat, err = chat_chat.new(begin_with --[[@as claude-ide.chat.Begin]])
  if not chat then
    return nil, err
  end
  local shown = { chat = chat, prompt = new_prompt(chat) }
  chat.source.hide = function()
    M.hide(chat)
  end
  chats[#chats + 1] = shown
  show(shown, begin(shown))
  if opts.begun then
    prompt.add(shown.prompt, opts.begun)
  end
  return M.say(chat, opts.text, opts.at)
end

---@param chat claude-ide.chat.Chat
---@param text? string
---@param at? claude-ide.context.At the user's position
---@return boolean? ok falsy only if it fails at once; later, the text is returned with a notice
---@return string? err
function M.say(chat, text, at)
  if not text or vim.trim(text) == "" then
    return true
  end
  local returned, ok, err = false, true, nil ---@type boolean, boolean?, string?
  content.say(chat, text, at, function(was_said, why)
    if was_said then
      history.add(chat.cwd, text)
    elseif chat.give_back then
      chat.give_back(text)
    end
    if not was_said and returned then
      notice.error(why or "This chat has ended.")
    end
    ok, err = was_said, why
  end)
  returned = true
  return ok, err
end

---The chat for commands: the current window's, else the most recently shown one.
---@return claude-ide.chat.Chat?
function M.current()
  local buf = vim.api.nvim_get_current_buf()
  for _, shown in ipairs(chats) do
    if shown.prompt == buf or shown.view and shown.view.buf == buf then
      return shown.chat
    end
  end
  local last = chats[#chats]
  return last and last.chat
end

---Shows a chat.
---@param begun? string added to its prompt
---@param wanted? claude-ide.chat.Chat default: the most recently shown one
---@return boolean there is one
function M.show(begun, wanted)
  local chat = wanted or M.current()
  if chat then
    show_again(chat, begun)
  end
  return chat ~= nil
end

---@param chat claude-ide.chat.Chat
function M.hide(chat)
  local shown = find(chat)
  if shown then
    windows.hide(shown)
  end
end

---Closes a chat with its process and windows. The prompt's text is kept as a draft.
---@param chat claude-ide.chat.Chat
function M.close(chat)
  local shown, at = find(chat)
  if not shown then
    return
  end
  table.remove(chats, at)
  chat.closing = true
  if chat.pid then
    for pid in pairs(leaving) do
      leaving[pid] = process.runs(pid) or nil
    end
    leaving[chat.pid] = true
  end
  chat:close()
  asks.gone(chat, "the chat is closed")
  prompt.retire(shown.prompt)
  windows.close(shown)
  own_buffer.delete(shown.prompt)
  if shown.view then
    transcript.close(shown.view)
  end
end

function M.close_all()
  for _, chat in ipairs(M.list()) do
    M.close(chat)
  end
end

---Closes a chat so that another process can resume its session: two processes on one session would fork its end.
---@param chat claude-ide.chat.Chat
---@param done fun() called when its process is gone
function M.release(chat, done)
  if chat.state == "ended" or not chat.number then
    M.close(chat)
    return done()
  end
  chat.on_ended = vim.schedule_wrap(done)
  M.close(chat)
end

---Continues a chat in the terminal.
---@param chat claude-ide.chat.Chat
function M.to_terminal(chat)
  if not chat.has_spoken then
    return notice.info("This chat has no messages yet.")
  end
  if not chat.can.terminal then
    return notice.info(("%s cannot continue in this terminal."):format(chat.name))
  end
  local id, cwd = chat.session, chat.cwd
  terminal.open({ "--resume", id }, {
    cwd = cwd,
    config_dir = chat.begin_with.config_dir,
    purpose = "continue the chat",
    before = function(go_on)
      M.release(chat, go_on)
    end,
  })
end

require("claude-ide.base.bus").on("terminal_opens", function()
  hide_chats()
end)

return M
