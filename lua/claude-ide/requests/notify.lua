-- Notifies once when Claude waits for the user or has finished while the user is elsewhere.
-- Elsewhere: in another program while the session runs in a terminal of this Neovim; or in this Neovim while that terminal is hidden
-- or the CLI runs in another program. No notice if a CLI in another program finishes while Neovim has no focus: the user may be
-- at that CLI.

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local clock = lazy("claude-ide.base.clock")
local config = lazy("claude-ide.config")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local phrases = lazy("claude-ide.sessions.phrases")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local timer = lazy("claude-ide.base.timer")
local tty = lazy("claude-ide.base.tty")

local M = {}

---How long a state must last: some waits are answered by a rule, some turns are followed by another at once.
M.settle_ms = 500
---Retry interval while a message would overwrite the command line.
local RETRY_MS = 300

---For this long after a decision, a record's wait may still refer to the decided request: check again.
M.grace_ms = 2000

---Whether Neovim has the focus, by the terminal's reports. Stays true without reports.
local focused = true
local has_reports = false

---Time of each client's last decided request, in Unix milliseconds. The session's record may lag behind.
---@type table<integer, integer>
local decided = {}

---Notices of finished turns that wait until the state has lasted, with what they will say, too.
---@class claude-ide.notify.Finish
---@field more? claude-ide.LateNotice

---@type table<integer, claude-ide.notify.Finish> by client of the journal
local finishing = {}

---Adds to the notice of a finished turn, if one may come in a moment: else, or if it does not come, this is a notice of its own.
---@param client integer of the journal
---@param more claude-ide.LateNotice
function M.with_finish(client, more)
  local finish = finishing[client]
  if finish then
    finish.more = more
  else
    notice.info(more)
  end
end

---How long tmux may take to answer.
local TMUX_MS = 300

---Whether tmux shows this Neovim: it tells no program of the focus, unless its option `focus-events` is set.
---@param done fun(is_shown: boolean) true also without an answer
local function ask_tmux(done)
  local format = "#{pane_active}#{window_active}#{session_attached}"
  local command = { "tmux", "display-message", "-p", "-t", vim.env.TMUX_PANE, format }
  local ok = pcall(vim.system, command, { text = true, timeout = TMUX_MS }, function(result)
    vim.schedule(function()
      local flags = result.code == 0 and vim.trim(result.stdout or "") or ""
      done(not flags:find("^%d%d%d+$") or flags:find("^11[1-9]") ~= nil)
    end)
  end)
  if not ok then
    done(true)
  end
end

---Whether the user is at this Neovim, or at its page, so that they see soon what waits for them.
---@param done fun(is_here: boolean) possibly before this returns
function M.when_known_if_here(done)
  if native.web_info() then
    done(true)
  elseif has_reports or not vim.env.TMUX or not vim.env.TMUX_PANE then -- tmux reports only with its option `focus-events`
    done(focused)
  else
    ask_tmux(done)
  end
end

local function command_line_is_busy()
  local mode = vim.api.nvim_get_mode()
  return mode.blocking or mode.mode:find("^[cr]") ~= nil or vim.fn.getcmdwintype() ~= ""
end

---@param ours claude-ide.sessions.Ours
---@return boolean
function M.is_elsewhere(ours)
  if ours.other then
    return not focused or not ours.other.visible
  elseif not ours.terminal then
    return focused
  end
  return not focused or not ours.terminal:is_visible()
end

---Whether a diff is open for the same question, so that the user knows.
local function has_request(ours)
  local client, other = ours.client, ours.other
  return #requests.pending(function(request)
    return client ~= nil and request.requester.client == client.id
      or other ~= nil and request.requester == other.requester
  end) > 0
end

---Whether the user has decided a request since the wait began.
local function is_answered(ours)
  local at = ours.client and decided[ours.client.id]
  local since = ours.session.state.since
  return at ~= nil and since ~= nil and since <= at
end

---How long a wait may still refer to a request that was just decided.
---@return integer? milliseconds nil: no longer
local function doubtful_for(ours)
  local at = ours.client and decided[ours.client.id]
  local left = at and at + M.grace_ms - clock.now()
  return left and left > 0 and left or nil
end

---@param title? string to tell sessions apart
local function message(ours, news, title)
  local text = news.kind == "waiting" and "Claude " .. phrases.waits(ours.session.state.waiting_for)
    or ("Claude has finished after %s"):format(phrases.duration(news.took or 0))
  return title and ("%s: %s"):format(text, phrases.fit(title, 40)) or text
end

---The session's title, if there are several sessions.
---@param done fun(title?: string) called at once if nothing must be read
local function title_of(ours, done)
  local session = ours.session
  if #own.list() < 2 then
    return done(nil)
  end
  catalogue.find(session.id, function(item)
    local summary = item and item.summary
    -- A title that was set elsewhere since is only in the transcript.
    if summary and (summary.named or not session.name) then
      done(phrases.title(summary))
    else
      done(session.name and phrases.title(session) or nil)
    end
  end)
end

---Where the terminal alone asks, as in auto mode.
local JUMP = "%s. %s goes there."

---@param text string
---@param more? claude-ide.LateNotice
---@return claude-ide.Notice
local function with_more(text, more)
  local texts = more and more() or {}
  texts = type(texts) == "table" and texts or { texts }
  texts = vim.tbl_map(function(one)
    return ("%s. %s"):format(text, one)
  end, texts)
  return vim.list_extend(texts, { text })
end

---@param text string
---@param silent boolean no message
---@param is_there boolean `:Claude decide` leads to it
---@param more? claude-ide.LateNotice
local function say(text, silent, is_there, more)
  for _, channel in ipairs(config.get().notify.channels) do
    if channel == "bell" then
      tty.bell()
    elseif channel == "osc9" then
      tty.notify(text)
    elseif not silent then
      notice.info(function()
        return is_there and { JUMP:format(text, notice.way_to("decide")), text } or with_more(text, more)
      end)
    end
  end
end

---@return boolean whether the options ask for it
local function is_wanted(news)
  local options = config.get().notify
  if #options.channels == 0 then
    return false
  elseif news.kind == "waiting" then
    return options.waiting
  end
  return news.kind == "idle"
    and options.finished
    and (news.took or 0) >= options.min_turn_ms
    and news.took ~= nil
end

---The session's current entry, if its state is unchanged.
---@param before claude-ide.sessions.Ours
---@return claude-ide.sessions.Ours?
local function still(before)
  local was = before.session
  return vim.iter(own.list()):find(function(ours)
    local is = ours.session
    return is.pid == was.pid
      and is.id == was.id
      and is.state.activity == was.state.activity
      and is.state.since == was.state.since
  end)
end

---@param finish? claude-ide.notify.Finish
local function later(ours, news, delay, finish)
  ---@return claude-ide.LateNotice? more
  local function over()
    local client = own.journal_client(ours)
    if finish and client and finishing[client] == finish then
      finishing[client] = nil
    end
    return finish and finish.more
  end
  timer.new("notify of a state that lasts"):start(delay, function()
    local current = still(ours)
    if not current or not M.is_elsewhere(current) then
      local more = over()
      if more then
        notice.info(more)
      end
      return
    end
    local announced = news.kind == "waiting" and has_request(current)
    local doubtful = news.kind == "waiting" and doubtful_for(current)
    if news.kind == "waiting" and is_answered(current) then
      return
    elseif doubtful then
      return later(ours, news, doubtful, finish)
    elseif announced and focused then
      return
    elseif command_line_is_busy() and focused then
      return later(ours, news, RETRY_MS, finish)
    end
    title_of(current, function(title)
      say(message(current, news, title), announced, own.asks_in_terminal(current), over())
    end)
  end)
end

---Notifies if the options ask for it and the user is elsewhere in a moment.
---@param ours claude-ide.sessions.Ours
---@param news claude-ide.sessions.News
function M.consider(ours, news)
  if is_wanted(news) then
    local client = own.journal_client(ours)
    local is_said = news.kind == "idle" and vim.tbl_contains(config.get().notify.channels, "message")
    local finish = client and is_said and {} or nil ---@type claude-ide.notify.Finish?
    if client and finish then
      finishing[client] = finish
    end
    later(ours, news, M.settle_ms, finish)
  end
end

---Starts tracking the focus and the user's decisions.
function M.attach()
  local group = vim.api.nvim_create_augroup("claude-ide.sessions.notify", { clear = true })
  bus.on("requests_changed", function(ended)
    local client = ended and ended.requester.client
    if client and server.client(client) then
      decided[client] = clock.now()
    end
  end)
  bus.on("client_disconnected", function(client)
    decided[client.id] = nil
  end)
  vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = group,
    callback = function(event)
      focused, has_reports = event.event == "FocusGained", true
    end,
    desc = "Claude Code: note whether Neovim has the focus",
  })
end

return M
