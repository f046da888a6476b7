-- A chat's prompt: a Markdown buffer below the chat. Its text outlives the window and `:edit`, and is kept as a draft when Neovim exits.

local prompts = require("claude-ide.chat.open_prompts").by_buffer
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local chat_history = lazy("claude-ide.chat.history")
local choose = lazy("claude-ide.ui.choose")
local complete = lazy("claude-ide.chat.complete")
local config = lazy("claude-ide.config")
local content = lazy("claude-ide.chat.content")
local interrupt = lazy("claude-ide.chat.interrupt")
local interrupt_key = lazy("claude-ide.ui.interrupt_key")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local phrases = lazy("claude-ide.sessions.phrases")
local preview = lazy("claude-ide.chat.preview")
local rewind = lazy("claude-ide.chat.rewind")
local safely = lazy("claude-ide.base.safely")
local settings = lazy("claude-ide.chat.settings")
local transcript = lazy("claude-ide.transcript")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

---@param prompt claude-ide.chat.PromptBuffer
---@return string
local function text_of(prompt)
  return table.concat(vim.api.nvim_buf_get_lines(prompt.buf, 0, -1, false), "\n")
end

---@param text string
---@return boolean
local function is_blank(text)
  return vim.trim(text) == ""
end

---Takes note of what stands there, at its position in the history.
---@param prompt claude-ide.chat.PromptBuffer
local function note(prompt)
  local text, recalled = text_of(prompt), prompt.recalled
  if prompt.at == 0 or not recalled then
    prompt.draft = text
  else
    prompt.edited[recalled] = text ~= recalled and not is_blank(text) and text or nil
  end
end

---The user's own texts: the one beside the history, and what was made of recalled ones.
---@param prompt claude-ide.chat.PromptBuffer
---@return string[] none is blank
local function unsent(prompt)
  if not vim.api.nvim_buf_is_valid(prompt.buf) then
    return {}
  end
  note(prompt)
  local texts = is_blank(prompt.draft) and {} or { prompt.draft }
  for _, text in vim.spairs(prompt.edited) do
    texts[#texts + 1] = text
  end
  return texts
end

---The texts of a chat's queued prompts.
---@param chat claude-ide.chat.Chat
---@return string[]
local function queued_in(chat)
  return vim.tbl_map(function(queued)
    return queued.text
  end, chat:waiting())
end

---Texts that were not sent: queued ones and those at the prompts of chats, and the draft that a folder's next chat would have.
---@param chats claude-ide.chat.Chat[]
---@param cwd string
---@return string[]
function M.unsent(chats, cwd)
  local texts = {} ---@type string[]
  for _, chat in ipairs(chats) do
    vim.list_extend(texts, queued_in(chat))
  end
  for _, prompt in vim.spairs(prompts) do
    if vim.list_contains(chats, prompt.chat) then
      vim.list_extend(texts, unsent(prompt))
    end
  end
  local draft = chat_history.draft(cwd)
  texts[#texts + 1] = draft and not is_blank(draft) and draft or nil
  return texts
end

---How long after a change the text is on disk.
local KEEP_AFTER_MS = 1000

---Puts the texts at the open prompts of a project on disk, and those that are queued.
---@param cwd string
local function keep_open(cwd)
  local texts = {} ---@type string[]
  for buf, prompt in vim.spairs(prompts) do
    if prompt.chat.cwd == cwd and vim.api.nvim_buf_is_loaded(buf) then
      vim.list_extend(texts, queued_in(prompt.chat))
      vim.list_extend(texts, unsent(prompt))
    end
  end
  chat_history.keep_open(cwd, texts)
end

---@param prompt claude-ide.chat.PromptBuffer
local function keep_open_soon(prompt)
  if not prompt.is_kept_soon then
    prompt.is_kept_soon = true
    vim.defer_fn(function()
      prompt.is_kept_soon = false
      if prompts[prompt.buf] == prompt then
        keep_open(prompt.chat.cwd)
      end
    end, KEEP_AFTER_MS)
  end
end

---The queue of a chat may have changed.
---@param chat claude-ide.chat.Chat
function M.note_queue(chat)
  local count = #chat:waiting()
  for _, prompt in pairs(prompts) do
    if prompt.chat == chat and prompt.queued ~= count then
      prompt.queued = count
      keep_open_soon(prompt)
    end
  end
end

---Ends a prompt: what stands there becomes a draft; as Neovim exits, what is queued, too.
---@param prompt claude-ide.chat.PromptBuffer
local function keep_draft(prompt)
  local is_exiting, own = vim.v.exiting ~= vim.NIL, unsent(prompt)
  local texts = is_exiting and queued_in(prompt.chat) or {}
  prompts[prompt.buf] = nil
  if is_exiting and not own[1] and (not texts[1] or not vim.api.nvim_buf_is_loaded(prompt.buf)) then
    return -- perhaps without notice, after Neovim has freed the buffer: what stood there is on disk
  end
  for _, text in ipairs(vim.list_extend(texts, own)) do
    if not chat_history.keep_draft(prompt.chat.cwd, text) then
      kept_words.give_back(text, "This draft cannot be kept")
    end
  end
  keep_open(prompt.chat.cwd)
end

---The event is not fired for other than the current buffer.
---@param prompt claude-ide.chat.PromptBuffer
local function tell_changed(prompt)
  vim.api.nvim_exec_autocmds("TextChanged", { buffer = prompt.buf, modeline = false })
end

---Ends the undo step, also in Insert mode.
---@param prompt claude-ide.chat.PromptBuffer
local function break_undo(prompt)
  vim.bo[prompt.buf].undolevels = vim.bo[prompt.buf].undolevels
end

---@param prompt claude-ide.chat.PromptBuffer
---@param text string
local function fill(prompt, text)
  vim.api.nvim_buf_set_lines(prompt.buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  for _, win in ipairs(vim.fn.win_findbuf(prompt.buf)) do
    local last = vim.api.nvim_buf_line_count(prompt.buf)
    pcall(vim.api.nvim_win_set_cursor, win, { last, #vim.fn.getbufoneline(prompt.buf, last) })
  end
  tell_changed(prompt)
end

---@param prompt claude-ide.chat.PromptBuffer
function M.send(prompt)
  local text = text_of(prompt)
  if is_blank(text) then
    asks.show(prompt.chat) -- what was put off with `q` waits behind the empty prompt
    return
  end
  -- Its references may take a while to read. The text is removed from the buffer, and returned if it cannot be sent.
  text = vim.trim(text)
  chat_history.add(prompt.chat.cwd, text)
  local draft = "" -- what was typed before an older prompt was recalled comes back
  if prompt.at > 0 then
    draft, prompt.edited[prompt.recalled] = prompt.draft, nil
  end
  prompt.at = 0
  break_undo(prompt) -- so that `u` restores it even if sent from insert mode
  fill(prompt, draft)
  keep_open(prompt.chat.cwd)
  transcript.go_to_end(prompt.chat.source)
  content.say(prompt.chat, text, nil, function(ok, err)
    if not ok then
      M.give_back(prompt, text)
      notice.error(err or "This chat has ended.")
    end
  end)
end

---Sends the current window's prompt.
function M.send_here()
  local prompt = prompts[vim.api.nvim_get_current_buf()]
  if prompt then
    M.send(prompt)
  end
end

---Returns an unsent text: before the current one.
---@param prompt claude-ide.chat.PromptBuffer
---@param text string
function M.give_back(prompt, text)
  if not prompts[prompt.buf] or not vim.api.nvim_buf_is_loaded(prompt.buf) then
    return kept_words.give_back(text, "The chat is gone")
  end
  if is_blank(text_of(prompt)) then
    return fill(prompt, text)
  end
  -- Perhaps the user types just now: their cursor stays, and `u` takes back what they type alone.
  break_undo(prompt)
  vim.api.nvim_buf_set_lines(prompt.buf, 0, 0, false, vim.split(text .. "\n", "\n", { plain = true }))
  break_undo(prompt)
  tell_changed(prompt)
end

---Adds text after the current one.
---@param buf integer
---@param text string
function M.add(buf, text)
  local prompt = prompts[buf]
  if prompt then
    local now = text_of(prompt)
    fill(prompt, is_blank(now) and text or now .. "\n" .. text)
  end
end

---@param prompt claude-ide.chat.PromptBuffer
---@param step 1|-1 1: older
function M.recall(prompt, step)
  local history = chat_history.list(prompt.chat.cwd)
  local at = math.min(math.max(prompt.at + step, 0), #history)
  if at == prompt.at then
    return
  end
  note(prompt)
  local recalled = history[#history + 1 - at]
  prompt.at, prompt.recalled = at, recalled
  fill(prompt, recalled and (prompt.edited[recalled] or recalled) or prompt.draft)
end

---Withdraws the last queued prompt into the buffer.
---@param prompt claude-ide.chat.PromptBuffer
function M.take_back(prompt)
  local waiting = prompt.chat:waiting()
  local last = waiting[#waiting]
  if not last then
    return notice.info("No prompt is queued.")
  end
  if prompt.chat:take_back(last) then
    M.give_back(prompt, last.text)
  end
end

---What the keys do, by option. `interrupt` is mapped by itself.
---@type table<string, fun(prompt: claude-ide.chat.PromptBuffer)>
local RUN = {}

function RUN.send(prompt)
  if vim.fn.mode():find("^i") and vim.fn.pumvisible() == 1 then
    -- While the menu is there, its word is put into the line again by whatever ends it.
    local command = "<C-y><Cmd>lua require('claude-ide.chat.prompt').send_here()<CR>"
    return vim.api.nvim_feedkeys(vim.keycode(command), "ni", false)
  end
  M.send(prompt)
end

RUN.send_at_once = RUN.send

function RUN.older(prompt)
  M.recall(prompt, 1)
end

function RUN.newer(prompt)
  M.recall(prompt, -1)
end

function RUN.take_back(prompt)
  M.take_back(prompt)
end

function RUN.mode(prompt)
  settings.next_mode(prompt.chat)
end

function RUN.model(prompt)
  settings.choose_model(prompt.chat)
end

function RUN.effort(prompt)
  settings.choose_effort(prompt.chat)
end

function RUN.rewind(prompt)
  rewind.choose(prompt.chat)
end

---Lets the user choose what is stopped of what runs in the background.
function RUN.tasks(prompt)
  local chat = prompt.chat
  local tasks = vim.tbl_values(chat.tasks) ---@type claude-ide.chat.Task[]
  table.sort(tasks, function(left, right)
    return left.id < right.id
  end)
  if #tasks == 0 then
    return notice.info("Nothing runs in the background.")
  end
  choose.select(tasks, {
    prompt = "Stop",
    format_item = function(task)
      return phrases.one_line(task.words)
    end,
  }, function(task)
    if not task then
      return
    end
    chat:ask("stop_task", { id = task.id }, function(_, err)
      if err then
        return notice.error(("The session was not stopped: %s"):format(err))
      end
      chat.tasks[task.id] = nil
      chat.on_change()
      notice.info("Stopped: " .. task.words)
    end)
  end)
end

function RUN.terminal(prompt)
  prompt.to_terminal()
end

function RUN.preview(prompt)
  preview.show(prompt.chat.cwd)
end

function RUN.close(prompt)
  prompt.hide()
end

function RUN.help(prompt)
  M.help(prompt.chat)
end

---Options of what not every agent can do.
local NEEDS_AGENT = { rewind = true, tasks = true, terminal = true }

---Lists the keys.
---@param chat claude-ide.chat.Chat
function M.help(chat)
  local options = {}
  for _, option in ipairs(key_list.options("chat")) do
    if not NEEDS_AGENT[option.name] or chat.can[option.name] then
      option.desc = option.desc:gsub("Claude", function()
        return chat.name
      end)
      options[#options + 1] = option
    end
  end
  key_list.open(options, {
    { "/ @ #", "complete commands, files, editor context" },
    { "account", chat.account and chat.account.full or "is not known yet" },
  }, { of = "a prompt", group = "ClaudeTranscriptKey", help = key_list.option("chat", "help").keys })
end

---@param prompt claude-ide.chat.PromptBuffer
local function map(prompt)
  for _, option in ipairs(key_list.options("chat")) do
    local run = RUN[option.name]
    if run then
      key_list.map(prompt.buf, option, function()
        safely.wrap(option.desc, run)(prompt)
      end, option.name == "send_at_once" and { "n", "i" } or "n")
    end
  end
  interrupt.map(prompt.chat, prompt.buf, { "n", "i" })
end

local COMPLETE = "v:lua.require'claude-ide.chat.complete'.func"

---@param chat claude-ide.chat.Chat
---@param acts { hide: fun(), to_terminal: fun() } actions on the chat
---@return integer buf
function M.create(chat, acts)
  local prompt ---@type claude-ide.chat.PromptBuffer
  local buf = own_buffer.create({
    kind = "prompt",
    name = { (chat.name:gsub("[/%c]", " ")), "prompt" },
    is_private = true,
    draw_again = function()
      prompts[prompt.buf], prompt.at, prompt.edited = prompt, 0, {}
      map(prompt)
      M.set_window_options(prompt.buf)
    end,
    bo = { buftype = "acwrite", completefunc = COMPLETE, omnifunc = COMPLETE },
  })
  prompt = {
    buf = buf,
    chat = chat,
    at = 0,
    draft = "",
    edited = {},
    queued = 0,
    hide = acts.hide,
    to_terminal = acts.to_terminal,
  }
  prompts[buf] = prompt
  map(prompt)
  chat.give_back = function(text)
    M.give_back(prompt, text)
  end
  local function on(events, desc, callback)
    vim.api.nvim_create_autocmd(events, { buffer = buf, desc = "Claude Code: " .. desc, callback = callback })
  end
  on({ "BufUnload", "BufWipeout" }, "unsent prompts are saved", function()
    M.retire(buf)
  end)
  -- Its text is kept in any case, so it is never "modified".
  on("BufModifiedSet", "a prompt needs no writing", function()
    vim.bo[buf].modified = false
  end)
  on({ "TextChanged", "TextChangedI", "TextChangedP" }, "save drafts", function()
    keep_open_soon(prompt)
  end)
  user_write.follow(buf, { desc = "a prompt is saved, not sent", still = "not sent" }, function()
    M.keep(prompt)
  end)
  return buf
end

---Ends a prompt and keeps its text for the project's next chat. Called before our own delete, which fires no event.
---@param buf integer
function M.retire(buf)
  local prompt = prompts[buf]
  if not prompt then
    return
  end
  preview.forget(buf)
  interrupt_key.off(buf)
  keep_draft(prompt)
end

---Disables other completion plugins in a prompt: they would draw over its own menu.
---@param buf integer
function M.have_one_menu(buf)
  vim.b[buf].completion = false -- blink.cmp
  vim.b[buf].minicompletion_disable = true
  vim.b[buf].coc_suggest_disable = 1
  local function without_cmp()
    local cmp = package.loaded.cmp -- nvim-cmp, perhaps loaded only when insert mode is entered
    if type(cmp) == "table" and type(cmp.setup) == "table" and vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_call(buf, function()
        pcall(cmp.setup.buffer, { enabled = false })
      end)
    end
  end
  without_cmp()
  vim.api.nvim_create_autocmd("InsertEnter", {
    buffer = buf,
    once = true,
    desc = "Claude Code: keep one completion menu in a prompt",
    callback = vim.schedule_wrap(without_cmp),
  })
end

---Restores the draft, and sets the filetype and completion. After the window is shown, since FileType autocommands take a while.
---@param buf integer
function M.set_window_options(buf)
  local prompt = prompts[buf]
  if not prompt or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local cwd = prompt.chat.cwd
  local draft = chat_history.take_draft(cwd)
  if draft then
    M.give_back(prompt, draft)
  end
  vim.bo[buf].filetype = "markdown"
  M.have_one_menu(buf)
  complete.attach(buf)
  preview.attach(buf, cwd)
end

---Puts the text on disk. It is not sent.
---@param prompt claude-ide.chat.PromptBuffer
function M.keep(prompt)
  vim.bo[prompt.buf].modified = false
  keep_open(prompt.chat.cwd)
  local key = key_list.keys(config.get().chat.keymaps.send)[1]
  notice.info(key and ("Saved as a draft. `%s` sends it."):format(key) or "Saved as a draft.")
end

---Keeps unsent texts for the project's next chat when Neovim exits.
function M.keep_drafts()
  for _, prompt in pairs(prompts) do
    keep_draft(prompt)
  end
end

return M
