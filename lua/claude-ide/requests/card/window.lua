-- The card's window: a float with a request's text and the keys that answer it. One is shown at a time, the others are queued.
-- Invariants: it opens only while the user is not typing, and keys typed on do not answer it (ui/guard). Nothing is allowed before all of
-- the text was visible (ui/read_through.lua).

local lazy = require("claude-ide.lazy")
local border = lazy("claude-ide.ui.border")
local bus = lazy("claude-ide.base.bus")
local closing = lazy("claude-ide.ui.guard.closing")
local colour = lazy("claude-ide.transcript.colour")
local guard = lazy("claude-ide.ui.guard")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_width = lazy("claude-ide.base.width")
local ide_window = lazy("claude-ide.base.window")
local interrupt_key = lazy("claude-ide.ui.interrupt_key")
local invisible_text = lazy("claude-ide.base.invisible_text")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local later = lazy("claude-ide.requests.card.later")
local menu = lazy("claude-ide.ui.menu")
local notice = lazy("claude-ide.base.notice")
local open_views = lazy("claude-ide.transcript.open_views")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local read_through = lazy("claude-ide.ui.read_through")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.card.window")

---Above diffs. Neovim's default is 50: what asks for words, such as `vim.ui.input` of a plugin, is above.
local ZINDEX = 45
local WIDTH, HEIGHT = 90, 0.6

---@class claude-ide.card.Action
---@field keys string[]
---@field desc string
---@field run fun()
---@field hidden? boolean not in the list of keys
---@field allows? boolean works only once all of the text was visible

---@alias claude-ide.card.Line { [1]: string, [2]: string?, [3]: any? } text, highlight group, choice

---@class claude-ide.card.Text
---@field title string
---@field lines claude-ide.card.Line[]
---@field actions claude-ide.card.Action[]
---@field choice? any the cursor's choice
---@field is_cut? boolean parts are omitted
---@field command? { first: integer, last: integer } lines of a shell's command
---@field is_warning? boolean the title warns

---@class claude-ide.card.Card: claude-ide.card.Shown
---@field request claude-ide.Request
---@field text fun(is_whole: boolean): claude-ide.card.Text
---@field package is_whole? boolean nothing is omitted
---@field package is_cut? boolean
---@field package choice? any where the cursor was last set
---@field package buf? integer
---@field package from? integer the previous window
---@field package was_typing? boolean the user was in terminal mode there
---@field package shown? claude-ide.card.Text

---@type claude-ide.card.Card[] the shown one first, those that were put off last
local cards = {}

---@param card claude-ide.card.Card
---@return integer?
local function window_of(card)
  return card.win and vim.api.nvim_win_is_valid(card.win) and card.win or nil
end

---The user goes on in the terminal that the card has come from.
local function type_on()
  -- In a terminal whose process has exited, the next key would close it.
  if vim.bo.buftype == "terminal" and vim.fn.jobwait({ vim.bo.channel }, 0)[1] == -1 then
    notice.mode_comes()
    vim.cmd.startinsert()
  end
end

---@param card claude-ide.card.Card
local function close_view(card)
  local win, buf = card.win, card.buf
  card.win, card.buf = nil, nil
  -- Neovim returns to the previous window: to none once a list above this float (ui/choose.lua) has closed.
  local has_focus = win == vim.api.nvim_get_current_win()
  local is_lost = has_focus and vim.list_contains({ 0, vim.fn.winnr() }, vim.fn.winnr("#"))
  local from = card.from
  if is_lost and from and vim.api.nvim_win_is_valid(from) then
    ide_window.enter(from)
  end
  if win then
    ide_window.close_all({ win })
  end
  if has_focus and card.was_typing and from == vim.api.nvim_get_current_win() then
    type_on()
  end
  if buf then
    guard_window.forget(buf)
    interrupt_key.off(buf)
    own_buffer.delete(buf)
  end
end

---@param action claude-ide.card.Action
---@param desc string
---@return { [1]: string, [2]: string }[] chunks
local function key_and_desc(action, desc)
  return {
    { " " .. action.keys[1], "ClaudeTranscriptKey" },
    { " " .. desc .. " ", "ClaudeTranscriptFact" },
  }
end

---@param text claude-ide.card.Text
---@param width integer
---@return { [1]: string, [2]: string }[][] lines of chunks
local function key_lines(text, width)
  local lines, used = { {} }, 0
  for _, action in ipairs(text.actions) do
    if not action.hidden then
      local desc = ide_width.in_a_line(action.desc, width - 6)
      local words = (" %s %s "):format(action.keys[1], desc)
      local cells = vim.fn.strdisplaywidth(words)
      if used > 0 and used + cells > width then
        lines[#lines + 1], used = {}, 0
      end
      used = used + cells
      vim.list_extend(lines[#lines], key_and_desc(action, desc))
    end
  end
  return lines
end

---What precedes the words of a choice, as a pattern of Vim's.
local BEFORE_CHOICE = [[^\d\+ \%(\[[x ]\] \|\* \)\=]]

---Cells of a key's description, if all keys are to fit on one line.
local SHORT = 18

---@param text claude-ide.card.Text
---@param width integer
---@return { [1]: string, [2]: string }[] as many keys as fit
local function keys_in_a_line(text, width)
  local chunks, used = {}, 0
  for _, action in ipairs(text.actions) do
    local desc = not action.hidden and ide_width.in_a_line(action.desc, SHORT)
    local cells = desc and vim.fn.strdisplaywidth(action.keys[1] .. desc) + 3
    if desc and used + cells <= width then
      used = used + cells --[[@as integer]]
      vim.list_extend(chunks, key_and_desc(action, desc --[[@as string]]))
    end
  end
  return chunks
end

---@param buf integer
---@param lines string[]
---@param last integer
local function colour_marks(buf, lines, last)
  local pattern = invisible_text.RUN_PATTERN
  for row = 1, last do
    local first, stop = lines[row]:find(pattern)
    while first and stop do
      local opts = { end_col = stop, hl_group = "ClaudeTranscriptFailed", priority = 4200 }
      vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, first - 1, opts)
      first, stop = lines[row]:find(pattern, stop + 1)
    end
  end
end

---Colours a shell's command: by its parser, else by syntax.
---@param buf integer
---@param first integer line
---@param last integer
local function colour_command(buf, first, last)
  if colour.has_parser("bash") then
    local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
    for _, span in ipairs(colour.spans({ row = 0, lines = lines, language = "bash" })) do
      local opts =
        { end_row = math.min(first - 1 + span.end_row, last), end_col = span.end_col, strict = false }
      opts.hl_group, opts.priority = span.group, 4150
      vim.api.nvim_buf_set_extmark(buf, namespace, first - 1 + span.row, span.col, opts)
    end
  elseif vim.g.syntax_on then
    vim.b[buf].is_bash = 1
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("syntax clear | silent! syntax include @claudeShell syntax/sh.vim")
      vim.cmd(
        ([[syntax region claudeShell start=/\%%%dl^/ end=/\%%%dl$/ contains=@claudeShell keepend]]):format(
          first,
          last
        )
      )
    end)
  end
end

---@return integer
local function max_height()
  return math.max(math.floor(vim.o.lines * HEIGHT), 3)
end

---@param card claude-ide.card.Card
---@param text claude-ide.card.Text
---@param width integer
---@return integer rows on the screen
---@return integer last line of the text
---@return claude-ide.ui.menu.Choice[]
local function fill(card, text, width)
  local lines, choices = {}, {} ---@type string[], claude-ide.ui.menu.Choice[]
  local groups = {} ---@type table<integer, string>
  local command = text.command
  local rows_of = {} ---@type table<integer, integer> first row of each line
  for index, line in ipairs(text.lines) do
    rows_of[index] = #lines + 1
    local is_command = command and index >= command.first and index <= command.last
    local first, previous = #lines + 1, choices[#choices]
    local parts = line[1]:find("\n", 1, true) and vim.split(line[1], "\n", { plain = true }) or { line[1] }
    for _, part in ipairs(parts) do
      part = ide_width.printable((part:gsub("\t", "    ")))
      for _, piece in ipairs(ide_width.pieces(part, width, max_height())) do
        lines[#lines + 1] = piece
        groups[#lines] = not is_command and line[2] or nil -- it would hide the syntax
      end
    end
    if line[3] ~= nil and previous and previous.value == line[3] then
      previous.last = #lines
    elseif line[3] ~= nil then
      choices[#choices + 1] = { first = first, last = #lines, value = line[3] }
    end
  end
  local last = #lines
  lines[#lines + 1] = ""
  local first_key = #lines
  local keys = key_lines(text, width)
  for _, chunks in ipairs(keys) do
    lines[#lines + 1] = table.concat(vim.tbl_map(function(chunk)
      return chunk[1]
    end, chunks))
  end
  local buf = card.buf --[[@as integer]]
  own_buffer.change(buf, function()
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  end)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for row, group in pairs(groups) do
    local opts = { end_col = #lines[row], hl_group = group }
    vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, 0, opts)
  end
  if command and #lines > 0 then
    colour_command(buf, rows_of[command.first] or 1, (rows_of[command.last + 1] or last + 1) - 1)
  end
  colour_marks(buf, lines, last)
  for at, chunks in ipairs(keys) do
    local col = 0
    for _, chunk in ipairs(chunks) do
      local opts = { end_col = col + #chunk[1], hl_group = chunk[2] }
      vim.api.nvim_buf_set_extmark(buf, namespace, first_key + at - 1, col, opts)
      col = col + #chunk[1]
    end
  end
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(math.ceil(ide_width.of(line) / width), 1)
  end
  return rows, last, choices
end

local draw ---@type fun(card: claude-ide.card.Card)

---Shows the whole text.
local function unfold(card)
  card.is_whole = true
  draw(card)
  guard_window.opened(card.buf --[[@as integer]])
  local words = "This is the full text. Scroll to the end to allow it."
  notice.info(card.is_cut and "The full text cannot be shown here." or words)
end

---Shows all keys of a card.
---@param card claude-ide.card.Card
local function help(card)
  local options = {}
  for _, action in ipairs(card.shown and card.shown.actions or {}) do
    options[#options + 1] = { name = action.desc, keys = action.keys, desc = action.desc }
  end
  key_list.open(options, {}, { of = "a question", group = "ClaudeTranscriptKey" })
end

---The card's text; if parts are omitted, with the key that shows them.
---@param card claude-ide.card.Card
---@return claude-ide.card.Text
local function text_of(card)
  local text = card.text(card.is_whole == true)
  card.is_cut = text.is_cut
  if text.is_cut then
    table.insert(text.actions, 1, {
      keys = { "<Tab>" },
      desc = "show the full text",
      run = function()
        unfold(card)
      end,
    })
  end
  table.insert(text.actions, {
    keys = { "g?" },
    desc = "these keys",
    hidden = true,
    run = function()
      help(card)
    end,
  })
  return text
end

---@param card claude-ide.card.Card
---@param text claude-ide.card.Text
local function map(card, text)
  for _, action in ipairs(text.actions) do
    local buf = card.buf --[[@as integer]]
    guard_window.map(buf, action.keys, action.desc, function()
      if card.request.state ~= "pending" then
        return
      elseif action.allows and card.is_cut then
        return unfold(card)
      elseif not action.allows or read_through.may_allow() then
        safely.wrap("answer a question", action.run)()
      end
    end)
  end
end

---@param title string
---@param width integer of the window
---@param is_warning? boolean
---@return { [1]: string, [2]: string }[]
local function titled(title, width, is_warning)
  local group = is_warning and "ClaudeTranscriptFailed" or "FloatTitle"
  return { { (" %s "):format(ide_width.in_a_line(title, width - 4)), group } }
end

---@param rows integer
---@param title string
---@param is_warning? boolean
---@return table config
local function place(rows, title, is_warning)
  local columns, lines = vim.o.columns, vim.o.lines
  local width = math.max(math.min(WIDTH, columns - 4), 10)
  local height = math.max(math.min(rows, max_height()), 3)
  return {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(lines - height - vim.o.cmdheight - 4, 0),
    col = math.max(math.floor((columns - width) / 2) - 1, 0),
    style = "minimal",
    border = border(),
    title = titled(title, width, is_warning),
    title_pos = "left",
    zindex = ZINDEX,
  }
end

---@param card claude-ide.card.Card
---@return claude-ide.chat.Chat? the requester
local function chat_of(card)
  local handle = card.request.handle
  return type(handle) == "table" and handle.chat or nil
end

---The title, with the name of who asks if there are several, and the number of questions that wait here.
---@param card claude-ide.card.Card
---@param text claude-ide.card.Text
---@return string
local function title_of(card, text)
  local chat, requester, parts = chat_of(card), card.request.requester, { text.title }
  parts[#parts + 1] = chat and open_views.title_if_several(chat.source)
    or requester.title_if_several and requester.title_if_several()
    or nil
  parts[#parts + 1] = #cards > 1 and ("1 of %d"):format(#cards) or nil
  return table.concat(parts, " · ")
end

---Renews the title: others may ask, too.
local function draw_title()
  local card = cards[1]
  local win = card and window_of(card)
  if win and card.shown then
    local config = vim.api.nvim_win_get_config(win)
    config.title = titled(title_of(card, card.shown), config.width, card.shown.is_warning)
    vim.api.nvim_win_set_config(win, config)
  end
end

local follow_names = require("claude-ide.base.once")(function()
  for _, topic in ipairs({ "terminal_used", "client_ready", "client_disconnected", "sessions_changed" }) do
    bus.on(topic, draw_title)
  end
end)

---@param card claude-ide.card.Card
function draw(card)
  local text = text_of(card)
  card.shown = text
  local width = math.max(math.min(WIDTH, vim.o.columns - 4), 10)
  local rows, last, choices = fill(card, text, width)
  local title = title_of(card, text)
  local config = place(rows, title, text.is_warning)
  local win = window_of(card)
  if win then
    vim.api.nvim_win_set_config(win, config)
  else
    card.from, card.was_typing = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode == "t"
    win = vim.api.nvim_open_win(card.buf --[[@as integer]], true, config)
    card.win = win
    guard_window.opened(card.buf --[[@as integer]])
    local wo = vim.wo[win][0]
    wo.wrap, wo.linebreak, wo.winfixbuf = true, true, true
    map(card, text)
  end
  -- A wrapped choice goes on below its words: what begins there looks like no other choice.
  vim.bo[card.buf].formatlistpat = BEFORE_CHOICE
  vim.wo[win][0].breakindent, vim.wo[win][0].breakindentopt = #choices > 0, "list:-1"
  -- Only the window knows where lines are wrapped.
  local height = vim.api.nvim_win_text_height(win, {}).all
  config = place(height, title, text.is_warning)
  -- The keys are below the text: invisible if it is long.
  config.footer = height > config.height and keys_in_a_line(text, width) or ""
  config.footer_pos = "left"
  vim.api.nvim_win_set_config(win, config)
  menu.set(card.buf --[[@as integer]], choices)
  if text.choice ~= card.choice then
    card.choice = text.choice
    menu.go(win, text.choice)
  end
  read_through.note(win, last)
end

local show_first ---@type fun()

---Puts a card behind the others, but before those that were put off.
---@param card claude-ide.card.Card
local function put_in_line(card)
  local at = #cards + 1
  while at > 1 and cards[at - 1].is_put_off and not card.is_put_off do
    at = at - 1
  end
  table.insert(cards, at, card)
end

---The user wants to answer a card later: the others are shown meanwhile.
---@param card claude-ide.card.Card
local function put_off(card)
  cards = vim.tbl_filter(function(other)
    return other ~= card
  end, cards)
  later.put_off(card, "question")
  put_in_line(card)
  show_first()
end

---@param card claude-ide.card.Card
local function show(card)
  if card.request.state ~= "pending" or cards[1] ~= card then
    return
  end
  local win = window_of(card)
  if win then
    draw_title() -- the number of chats may have changed
    return ide_window.enter(win)
  end
  guard.forget(card.request.id) -- the user may have asked for it while it waited
  colour.define()
  close_view(card) -- `:quit` keeps the buffer
  local buf = own_buffer.create({
    kind = "question",
    id = card.request.id,
    name = { card.request.requester.name, "question" },
    is_private = true,
    draw_again = function()
      card.choice = nil
      draw(card)
    end,
    bo = { undolevels = -1 },
  })
  card.buf, card.choice = buf, nil
  closing.finish() -- it would take the card along
  draw(card)
  later.follow(card, card.request, "question", show_first, function()
    put_off(card)
  end)
  local map_keys = card.request.requester.map_keys
  if map_keys then
    map_keys(buf)
  end
  vim.api.nvim_create_autocmd("VimResized", {
    buffer = buf,
    desc = "Claude Code: keep a request on the screen",
    callback = function()
      if window_of(card) then
        draw(card)
      end
    end,
  })
end

local ASKED_HERE = "claude-ide.card.asked_here"

---Whether the user already sees the request elsewhere. It is shown once they leave.
---@param card claude-ide.card.Card
---@return boolean
local function is_asked_here(card)
  local asks_here = card.request.requester.asks_here
  if not asks_here or not asks_here() then
    return false
  end
  vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter", "TabEnter" }, {
    group = vim.api.nvim_create_augroup(ASKED_HERE, { clear = true }),
    once = true,
    desc = "Claude Code: show a request once you have left its terminal",
    callback = vim.schedule_wrap(function()
      vim.api.nvim_create_augroup(ASKED_HERE, { clear = true }) -- one of the events is enough
      show_first()
    end),
  })
  return true
end

function show_first()
  while cards[1] and cards[1].request.state ~= "pending" do
    close_view(table.remove(cards, 1)) -- one that could not be shown
  end
  local first = cards[1]
  if first and not first.is_put_off and not is_asked_here(first) then
    typing.listen()
    guard.when_idle(first.request.id, "a question", function()
      if not is_asked_here(first) and not window_of(first) then -- that would take the focus, perhaps to another tab page
        show(first)
      end
    end, (chat_of(first) or { name = "Claude" }).name .. " asks you something")
  end
end

---Shows a request once the user is not typing.
---@param card claude-ide.card.Card
function M.open(card)
  follow_names()
  put_in_line(card)
  if cards[1] == card or cards[1].request.state ~= "pending" then
    show_first()
  else
    draw_title()
  end
end

---@param card claude-ide.card.Card
---@return string[]
local function keys_of(card)
  local keys = {}
  for _, action in ipairs(card.shown and card.shown.actions or {}) do
    vim.list_extend(keys, action.keys)
  end
  return vim.tbl_filter(function(key)
    return key ~= "<Esc>"
  end, keys)
end

---@param card claude-ide.card.Card
local function close_by_key(card)
  closing.by_key(function()
    close_view(card)
  end, keys_of(card))
end

---Closes a request, and shows the next one.
---@param request claude-ide.Request
---@param is_answered_here? boolean default: others have ended it, perhaps as the user was about to answer
function M.close(request, is_answered_here)
  for at, card in ipairs(cards) do
    if card.request == request then
      guard.forget(request.id)
      table.remove(cards, at)
      if is_answered_here == true then
        close_by_key(card)
      else
        closing.by_others(function()
          close_view(card)
        end, keys_of(card))
      end
      break
    end
  end
  draw_title()
  show_first()
end

---The user decides.
---@param request claude-ide.Request
---@param answer claude-ide.chat.Answer
function M.settle(request, answer)
  if requests.settle(request, answer) then
    M.close(request, true)
  end
end

---Lets the user answer in words, which are kept where the question is gone by then.
---@param request claude-ide.Request
---@param opts { prompt: string, default?: string }
---@param done fun(text: string) not where they cancel
---@param gone? fun(text: string)
function M.input(request, opts, done, gone)
  vim.ui.input(opts, function(text)
    if text and request.state == "pending" then
      done(text)
    elseif text and gone then
      gone(text)
    elseif text and vim.trim(text) ~= "" then
      kept_words.give_back(text, "The request has ended")
    end
  end)
end

---Redraws a request.
---@param request claude-ide.Request
---@param is_another? boolean it now has another question
function M.redraw(request, is_another)
  for _, card in ipairs(cards) do
    if card.request == request and card.buf then
      card.choice = not is_another and card.choice or nil
      draw(card)
      if is_another then
        guard_window.opened(card.buf)
      end
    end
  end
end

---The choice at the cursor, if the request is focused.
---@param request claude-ide.Request
---@return any
function M.choice(request)
  local card = cards[1]
  return card and card.request == request and card.buf and menu.at_cursor(card.buf) or nil
end

---@class claude-ide.card.Kind of requests that are shown here
---@field name string
---@field noun string "question"
---@field text fun(request: any, is_whole: boolean): claude-ide.card.Text
---@field remote fun(): claude-ide.requests.Remote
---@field withdraw? fun(request: any) default: it goes

---Asks the user.
---@param kind claude-ide.card.Kind
---@param asked claude-ide.chat.Request
---@param fields table of the request
function M.ask(kind, asked, fields)
  requests.register(kind.name, {
    one = kind.noun,
    many = kind.noun .. "s",
    present = function(request)
      M.open({
        request = request,
        text = function(is_whole)
          return kind.text(request, is_whole)
        end,
      })
    end,
    withdraw = kind.withdraw or function(request)
      M.close(request)
    end,
    focus = M.focus,
    remote = kind.remote,
  })
  requests.ask(kind.name, asked.requester, asked, fields)
end

---Hides the card; the request stays pending. `M.focus` shows it again.
function M.hide()
  if cards[1] then
    close_by_key(cards[1])
    put_off(cards[1])
  end
end

---The action of every card.
---@return claude-ide.card.Action
function M.later()
  return { keys = { "q", "<Esc>" }, desc = "later", run = M.hide }
end

---Focuses a pending request.
---@param request? claude-ide.Request default: the first
---@return boolean whether there is one
function M.focus(request)
  for at, card in ipairs(request and cards or {}) do
    if card.request == request and at > 1 then
      close_view(cards[1])
      table.insert(cards, 1, table.remove(cards, at))
    end
  end
  if cards[1] then
    cards[1].is_put_off = nil
    show(cards[1])
  end
  return cards[1] ~= nil
end

return M
