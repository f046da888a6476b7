-- `:Claude ask`: asks a question, and shows the answer in a float as it is written. It is a chat without a prompt, whose CLI only reads
-- files of the project; the user can continue it as a regular chat.
local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local chat_chat = lazy("claude-ide.chat.chat")
local chats = lazy("claude-ide.chat")
local config = lazy("claude-ide.config")
local content = lazy("claude-ide.chat.content")
local inline_run = lazy("claude-ide.chat.inline.run")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local phrases = lazy("claude-ide.sessions.phrases")
local safely = lazy("claude-ide.base.safely")
local text_float = lazy("claude-ide.ui.text_float")
local transcript = lazy("claude-ide.transcript")
local winbar = lazy("claude-ide.transcript.winbar")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.inline.Ask
---@field chat claude-ide.chat.Chat
---@field view? claude-ide.transcript.View
---@field win? integer
---@field then_chat boolean continue as a chat once its CLI has exited

---The transcript in the window begins with the question.
local TITLE = "Claude answers"

---@type claude-ide.inline.Ask? displayed one
local shown

---@param ask claude-ide.inline.Ask
local function close_window(ask)
  local win, view = ask.win, ask.view
  ask.win, ask.view = nil, nil
  if shown == ask then
    shown = nil
  end
  window.close(win)
  if view then
    transcript.close(view)
  end
end

---@param ask claude-ide.inline.Ask
local function close(ask)
  if ask.win then
    close_window(ask)
    ask.chat.closing = true
    ask.chat:close()
  end
end

---Continues as a regular chat.
---@param ask claude-ide.inline.Ask
local function go_on(ask)
  ask.then_chat = false
  local id = ask.chat.session
  catalogue.find(id, function(item, err)
    local ok = item ~= nil ---@type boolean?
    if item then
      ok, err = chats.open({
        resume = id,
        file = item.summary.file,
        cwd = ask.chat.cwd,
        title = phrases.title(item.summary),
      })
    end
    if not ok then
      notice.error(err or "The chat could not be started.")
    end
  end)
end

---@param ask claude-ide.inline.Ask
local function continue(ask)
  if ask.chat.state == "working" or ask.chat.state == "starting" then
    return notice.info("Claude is still answering.")
  elseif not ask.chat.has_spoken then
    return notice.info("There is no session to continue.")
  end
  local has_ended = ask.chat.state == "ended"
  ask.then_chat = has_ended == false -- later: two processes must not write to one session
  close(ask)
  if has_ended then
    go_on(ask)
  end
end

---@param ask claude-ide.inline.Ask
---@param buf integer
local function map(ask, buf)
  local function on(section, name, run)
    local option = key_list.option(section, name)
    key_list.map(buf, option, safely.wrap(option.desc, run))
  end
  on("ask", "close", function()
    close(ask)
  end)
  on("ask", "chat", function()
    continue(ask)
  end)
  on("chat", "interrupt", function()
    ask.chat:interrupt()
  end)
end

local function hint(win)
  local keys, pieces = config.get().ask.keymaps, {}
  for _, one in ipairs({ { keys.close, "close" }, { keys.chat, "continue as a chat" } }) do
    local lhs = key_list.keys(one[1])[1]
    pieces[#pieces + 1] = lhs and ("%s %s"):format(lhs, one[2]) or nil
  end
  if #pieces > 0 then
    local footer = (" %s "):format(table.concat(pieces, " · "))
    vim.api.nvim_win_set_config(win, { footer = footer, footer_pos = "right" })
  end
end

---@param ask claude-ide.inline.Ask
local function open_window(ask)
  if shown then
    close(shown)
  end
  shown = ask
  local blank = own_buffer.create({ bo = { bufhidden = "wipe" } })
  local win = text_float.open(blank, TITLE)
  ask.win = win
  ask.view = transcript.show_in(ask.chat.source, win)
  hint(win)
  map(ask, ask.view.buf)
  vim.api.nvim_create_autocmd({ "WinClosed" }, {
    pattern = tostring(win),
    once = true,
    desc = "Claude Code: end a question with its window",
    callback = function()
      vim.schedule(function()
        close(ask)
      end)
    end,
  })
  vim.api.nvim_create_autocmd("VimResized", {
    buffer = ask.view.buf,
    desc = "Claude Code: fit an answer to the screen",
    callback = function()
      if ask.win and vim.api.nvim_win_is_valid(ask.win) then
        vim.api.nvim_win_set_config(ask.win, text_float.place(nil, TITLE))
        hint(ask.win)
      end
    end,
  })
end

---@param question string
---@param at claude-ide.context.At the user's file
---@return boolean? ok
---@return string? err
function M.ask(question, at)
  local ask ---@type claude-ide.inline.Ask
  local args = vim.list_extend({}, inline_run.READ_ONLY)
  vim.list_extend(args, config.get().ask.args)
  local chat, err = chat_chat.new({
    title = "Question",
    cwd = at.cwd,
    args = args,
    alone = true,
    on_change = function()
      if ask and ask.view then
        winbar.refresh(ask.view)
      end
      if ask and ask.then_chat and ask.chat.state == "ended" then
        go_on(ask)
      end
    end,
  })
  if not chat then
    return nil, err
  end
  -- Its session is named after the question, which the transcript shows.
  chat.source.describe = function(_, done)
    done({ title = chat.source.title })
  end
  ask = { chat = chat, then_chat = false }
  local began, why = chat:begin()
  if not began then
    return nil, why
  end
  open_window(ask)
  content.say(chat, question, at, function(ok, problem)
    if not ok then
      close(ask)
      kept_words.give_back(question, problem or "Claude cannot be asked")
    end
  end)
  return true
end

return M
