-- A chat's request in a float: its text, and the keys that answer it. One is shown at a time, the others are queued.
-- Invariants: it opens only while the user is not typing, and keys typed on do not answer it (ui/guard). Nothing is allowed before all of
-- the text was visible (ui/read_through.lua).

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.chat.panel")

---Above diffs, below key lists.
local ZINDEX = 45
local WIDTH, HEIGHT = 90, 0.6

---@class claude-ide.chat.panel.Action
---@field keys string[]
---@field desc string
---@field run fun()
---@field hidden? boolean not in the list of keys
---@field allows? boolean works only once all of the text was visible

---@alias claude-ide.chat.panel.Line { [1]: string, [2]: string?, [3]: any? } text, highlight group, choice

---@class claude-ide.chat.panel.Text
---@field title string
---@field lines claude-ide.chat.panel.Line[]
---@field actions claude-ide.chat.panel.Action[]
---@field choice? any the cursor's choice
---@field is_cut? boolean parts are omitted
---@field command? { first: integer, last: integer } lines of a shell's command
---@field is_warning? boolean the title warns

---@class claude-ide.chat.Panel
---@field decision claude-ide.Decision
---@field text fun(is_whole: boolean): claude-ide.chat.panel.Text
---@field package is_whole? boolean nothing is omitted
---@field package is_cut? boolean
---@field package choice? any where the cursor was last set
---@field package buf? integer
---@field package win? integer
---@field package from? integer the previous window

---@type claude-ide.chat.Panel[] the shown one first
local panels = {}

---@param panel claude-ide.chat.Panel
local function take_down(panel)
  local win, buf = panel.win, panel.buf
  panel.win, panel.buf = nil, nil
  -- Neovim returns to the previous window: to none once a list above this float (ui/choose.lua) has closed.
  local has_focus = win == vim.api.nvim_get_current_win()
  local is_lost = has_focus and vim.list_contains({ 0, vim.fn.winnr() }, vim.fn.winnr("#"))
  local from = panel.from
  if is_lost and from and vim.api.nvim_win_is_valid(from) then
    vim.api.nvim_set_current_win(from)
  end
  if win then
    require("claude-ide.window").close_all({ win })
  end
  if buf then
    require("claude-ide.ui.guard.window").forget(buf)
    require("claude-ide.ui.interrupt_key").off(buf)
    require("claude-ide.ui.own_buffer").delete(buf)
  end
end

---An agent's text on one line.
local function in_a_line(words, cells)
  local width = require("claude-ide.width")
  return width.cut(width.printable((words:gsub("%s+", " "))), cells)
end

---@param action claude-ide.chat.panel.Action
---@param desc string
---@return { [1]: string, [2]: string }[] chunks
local function key_and_desc(action, desc)
  return {
    { " " .. action.keys[1], "ClaudeTranscriptKey" },
    { " " .. desc .. " ", "ClaudeTranscriptFact" },
  }
end

---@param text claude-ide.chat.panel.Text
---@param width integer
---@return { [1]: string, [2]: string }[][] lines of chunks
local function key_lines(text, width)
  local lines, used = { {} }, 0
  for _, action in ipairs(text.actions) do
    if not action.hidden then
      local desc = in_a_line(action.desc, width - 6)
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

---Cells of a key's description, if all keys are to fit on one line.
local SHORT = 18

---@param text claude-ide.chat.panel.Text
---@param width integer
---@return { [1]: string, [2]: string }[] as many keys as fit
local function keys_in_a_line(text, width)
  local chunks, used = {}, 0
  for _, action in ipairs(text.actions) do
    local desc = not action.hidden and in_a_line(action.desc, SHORT)
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
  local pattern = require("claude-ide.unseen").RUN_PATTERN
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
  local colour = require("claude-ide.transcript.colour")
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

---@param panel claude-ide.chat.Panel
---@param text claude-ide.chat.panel.Text
---@param width integer
---@return integer rows on the screen
---@return integer last line of the text
---@return claude-ide.ui.menu.Choice[]
local function fill(panel, text, width)
  local lines, choices = {}, {} ---@type string[], claude-ide.ui.menu.Choice[]
  local groups = {} ---@type table<integer, string>
  local command = text.command
  local rows_of = {} ---@type table<integer, integer> first row of each line
  for index, line in ipairs(text.lines) do
    rows_of[index] = #lines + 1
    local is_command = command and index >= command.first and index <= command.last
    local first, previous = #lines + 1, choices[#choices]
    for _, part in ipairs(vim.split(line[1], "\n", { plain = true })) do
      part = require("claude-ide.width").printable((part:gsub("\t", "    "):gsub("\r$", "")))
      for _, piece in ipairs(require("claude-ide.width").pieces(part, width)) do
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
  local buf = panel.buf --[[@as integer]]
  require("claude-ide.ui.own_buffer").change(buf, function()
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
    rows = rows + math.max(math.ceil(vim.fn.strdisplaywidth(line) / width), 1)
  end
  return rows, last, choices
end

local draw ---@type fun(panel: claude-ide.chat.Panel)

---Shows the whole text.
local function unfold(panel)
  panel.is_whole = true
  draw(panel)
  require("claude-ide.ui.guard.window").opened(panel.buf --[[@as integer]])
  require("claude-ide.ui.notice").info("Here is all of it. It is allowed from its end on.")
end

---The panel's text; if parts are omitted, with the key that shows them.
---@param panel claude-ide.chat.Panel
---@return claude-ide.chat.panel.Text
local function text_of(panel)
  local text = panel.text(panel.is_whole == true)
  panel.is_cut = text.is_cut
  if text.is_cut then
    table.insert(text.actions, 1, {
      keys = { "<Tab>" },
      desc = "show all of it",
      run = function()
        unfold(panel)
      end,
    })
  end
  return text
end

---@param panel claude-ide.chat.Panel
---@param text claude-ide.chat.panel.Text
local function map(panel, text)
  for _, action in ipairs(text.actions) do
    local buf = panel.buf --[[@as integer]]
    require("claude-ide.ui.guard.window").map(buf, action.keys, action.desc, function()
      if panel.decision.state ~= "pending" then
        return
      elseif action.allows and panel.is_cut and not panel.is_whole then
        return unfold(panel)
      elseif not action.allows or require("claude-ide.ui.read_through").may_allow() then
        require("claude-ide.safely").wrap("answer a question", action.run)()
      end
    end)
  end
end

---@param rows integer
---@param title string
---@param is_warning? boolean
---@return table config
local function place(rows, title, is_warning)
  local columns, lines = vim.o.columns, vim.o.lines
  local width = math.max(math.min(WIDTH, columns - 4), 10)
  local height = math.max(math.min(rows, math.floor(lines * HEIGHT)), 3)
  return {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(lines - height - vim.o.cmdheight - 4, 0),
    col = math.max(math.floor((columns - width) / 2) - 1, 0),
    style = "minimal",
    border = "rounded",
    title = {
      {
        (" %s "):format(in_a_line(title, width - 4)),
        is_warning and "ClaudeTranscriptFailed" or "FloatTitle",
      },
    },
    title_pos = "left",
    zindex = ZINDEX,
  }
end

---@param panel claude-ide.chat.Panel
---@return claude-ide.chat.Chat? the requester
local function chat_of(panel)
  local request = panel.decision.request
  return type(request) == "table" and request.chat or nil
end

---The title, with the chat's or the terminal's name if there are several.
local function title_of(panel, text)
  local chat, source = chat_of(panel), panel.decision.source
  local which = chat and require("claude-ide.transcript.open_views").told_apart(chat.source)
    or source.is_one_of_several and source.name
  return which and ("%s · %s"):format(text.title, which) or text.title
end

---@param panel claude-ide.chat.Panel
function draw(panel)
  local text = text_of(panel)
  local width = math.max(math.min(WIDTH, vim.o.columns - 4), 10)
  local rows, last, choices = fill(panel, text, width)
  local title = title_of(panel, text)
  local config = place(rows, title, text.is_warning)
  if panel.win and vim.api.nvim_win_is_valid(panel.win) then
    vim.api.nvim_win_set_config(panel.win, config)
  else
    panel.from = vim.api.nvim_get_current_win()
    panel.win = vim.api.nvim_open_win(panel.buf --[[@as integer]], true, config)
    require("claude-ide.ui.guard.window").opened(panel.buf --[[@as integer]])
    local wo = vim.wo[panel.win][0]
    wo.wrap, wo.linebreak, wo.winfixbuf = true, true, true
    map(panel, text)
  end
  -- Only the window knows where lines are wrapped.
  local height = vim.api.nvim_win_text_height(panel.win, {}).all
  config = place(height, title, text.is_warning)
  -- The keys are below the text: invisible if it is long.
  config.footer = height > config.height and keys_in_a_line(text, width) or ""
  config.footer_pos = "left"
  vim.api.nvim_win_set_config(panel.win, config)
  local menu = require("claude-ide.ui.menu")
  menu.set(panel.buf --[[@as integer]], choices)
  if text.choice ~= panel.choice then
    panel.choice = text.choice
    menu.go(panel.win, text.choice)
  end
  require("claude-ide.ui.read_through").note(panel.win, last)
end

---@param panel claude-ide.chat.Panel
local function show(panel)
  if panel.decision.state ~= "pending" or panels[1] ~= panel then
    return
  end
  if panel.win and vim.api.nvim_win_is_valid(panel.win) then
    draw(panel) -- the number of chats may have changed
    return vim.api.nvim_set_current_win(panel.win)
  end
  require("claude-ide.transcript.colour").define()
  take_down(panel) -- `:quit` keeps the buffer
  local buf = require("claude-ide.ui.own_buffer").create({
    kind = "question",
    id = panel.decision.id,
    name = { panel.decision.source.name, "question" },
    is_private = true,
    bo = { undolevels = -1 },
  })
  panel.buf, panel.choice = buf, nil
  draw(panel)
  local chat = chat_of(panel)
  if chat then
    require("claude-ide.chat.prompt").map_interrupt(chat, buf, { "n" })
  end
  vim.api.nvim_create_autocmd("VimResized", {
    buffer = buf,
    desc = "Claude Code: a question stays on the screen",
    callback = function()
      if panel.win and vim.api.nvim_win_is_valid(panel.win) then
        draw(panel)
      end
    end,
  })
end

local show_first ---@type fun()

---Whether the user already sees the request elsewhere. It is shown once they leave.
---@param panel claude-ide.chat.Panel
---@return boolean
local function is_asked_here(panel)
  local asks_here = panel.decision.source.asks_here
  if not asks_here or not asks_here() then
    return false
  end
  vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter", "TabEnter" }, {
    group = vim.api.nvim_create_augroup("claude-ide.chat.panel.asked_here", { clear = true }),
    once = true,
    desc = "Claude Code: a question of the terminal's, away from it",
    callback = vim.schedule_wrap(function()
      show_first()
    end),
  })
  return true
end

function show_first()
  while panels[1] and panels[1].decision.state ~= "pending" do
    take_down(table.remove(panels, 1)) -- one that could not be shown
  end
  local first = panels[1]
  if first and not is_asked_here(first) then
    require("claude-ide.ui.guard.keys").listen()
    require("claude-ide.ui.guard").when_free(first.decision.id, "a question", function()
      if not is_asked_here(first) then
        show(first)
      end
    end, "Claude asks you something")
  end
end

---Shows a request once the user is not typing.
---@param panel claude-ide.chat.Panel
function M.open(panel)
  panels[#panels + 1] = panel
  if #panels == 1 or panels[1].decision.state ~= "pending" then
    show_first()
  end
end

---Closes a request, and shows the next one.
---@param decision claude-ide.Decision
function M.close(decision)
  for at, panel in ipairs(panels) do
    if panel.decision == decision then
      require("claude-ide.ui.guard").forget(decision.id)
      table.remove(panels, at)
      take_down(panel)
      break
    end
  end
  show_first()
end

---The user decides.
---@param decision claude-ide.Decision
---@param answer claude-ide.chat.Answer
function M.settle(decision, answer)
  if require("claude-ide.decisions").settle(decision, answer) then
    M.close(decision)
  end
end

---Lets the user answer in words, which are kept where the question is gone by then.
---@param decision claude-ide.Decision
---@param opts { prompt: string, default?: string }
---@param done fun(text: string) not where they cancel
---@param gone? fun(text: string)
function M.input(decision, opts, done, gone)
  vim.ui.input(opts, function(text)
    if text and decision.state == "pending" then
      done(text)
    elseif text and gone then
      gone(text)
    elseif text and vim.trim(text) ~= "" then
      require("claude-ide.ui.kept_words").give_back(text, "The question is gone")
    end
  end)
end

---Redraws a request.
---@param decision claude-ide.Decision
---@param is_another? boolean it now has another question
function M.redraw(decision, is_another)
  for _, panel in ipairs(panels) do
    if panel.decision == decision and panel.buf then
      panel.choice = not is_another and panel.choice or nil
      draw(panel)
      if is_another then
        require("claude-ide.ui.guard.window").opened(panel.buf)
      end
    end
  end
end

---The choice at the cursor, if the request is focused.
---@param decision claude-ide.Decision
---@return any
function M.choice(decision)
  local panel = panels[1]
  return panel
      and panel.decision == decision
      and panel.buf
      and require("claude-ide.ui.menu").at_cursor(panel.buf)
    or nil
end

---@class claude-ide.chat.panel.Kind of decisions that are shown here
---@field name string
---@field noun string "question"
---@field text fun(decision: any, is_whole: boolean): claude-ide.chat.panel.Text
---@field remote fun(): claude-ide.decisions.Remote
---@field withdraw? fun(decision: any) default: it goes

---Asks the user.
---@param kind claude-ide.chat.panel.Kind
---@param request claude-ide.chat.Request
---@param fields table of the decision
function M.ask(kind, request, fields)
  local decisions = require("claude-ide.decisions")
  decisions.register(kind.name, {
    one = kind.noun,
    many = kind.noun .. "s",
    present = function(decision)
      M.open({
        decision = decision,
        text = function(is_whole)
          return kind.text(decision, is_whole)
        end,
      })
    end,
    withdraw = kind.withdraw or M.close,
    focus = M.focus,
    remote = kind.remote,
  })
  decisions.ask(kind.name, request.source, request, fields)
end

---Hides the panel; the request stays pending. `M.focus` shows it again.
function M.hide()
  if panels[1] then
    take_down(panels[1])
  end
end

---The action of every panel.
---@return claude-ide.chat.panel.Action
function M.later()
  return { keys = { "q", "<Esc>" }, desc = "later", run = M.hide }
end

---Focuses a pending request.
---@param decision? claude-ide.Decision default: the first
---@return boolean whether there is one
function M.focus(decision)
  for at, panel in ipairs(decision and panels or {}) do
    if panel.decision == decision and at > 1 then
      take_down(panels[1])
      table.insert(panels, 1, table.remove(panels, at))
    end
  end
  if panels[1] then
    show(panels[1])
  end
  return panels[1] ~= nil
end

return M
