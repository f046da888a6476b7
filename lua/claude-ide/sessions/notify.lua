-- The one notice when Claude waits for a user, or has finished, who looks elsewhere.
-- Elsewhere is: another program, while the session is in a terminal of this Neovim; or this Neovim, where that terminal
-- is not in sight or the CLI runs in another program. When a CLI in another program finishes while Neovim is not looked at
-- either, the user may well sit at that CLI: nothing is said.

local M = {}

---A state counts once it has lasted this long: some waits are answered by a rule, some ends begin the next prompt at once.
M.settle_ms = 500
---How soon to try again while a message would disturb what is on the command line.
local RETRY_MS = 300

---A record that says so this much later than a diff was decided may still speak of that diff: it is looked at again.
M.grace_ms = 2000

---Whether the terminal says that Neovim has the focus. One that says nothing leaves it at yes.
local focused = true

---When the last diff of each client was decided, in Unix milliseconds: the record of its session may say so later.
---@type table<integer, integer>
local decided = {}

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
  return not focused or not require("claude-ide.terminal").is_visible()
end

---Whether the user has been told already: by what waits for the same yes, a diff.
local function has_decision(ours)
  local client, other = ours.client, ours.other
  return #require("claude-ide.decisions").pending(function(decision)
    return client ~= nil and decision.source.client == client.id
      or other ~= nil and decision.source == other.source
  end) > 0
end

---Whether the user has answered already, in a diff that came after the wait began.
local function is_answered(ours)
  local at = ours.client and decided[ours.client.id]
  local since = ours.session.state.since
  return at ~= nil and since ~= nil and since <= at
end

---How long it is still doubtful whether a wait is that for a diff that was just decided.
---@return integer? milliseconds nil: it is not
local function doubtful_for(ours)
  local at = ours.client and decided[ours.client.id]
  local left = at and at + M.grace_ms - require("claude-ide.clock").now()
  return left and left > 0 and left or nil
end

---@param title? string where it is to say which session
local function message(ours, news, title)
  local words = require("claude-ide.sessions.phrases")
  local text = news.kind == "waiting" and "Claude " .. words.waits(ours.session.state.waiting_for)
    or ("Claude has finished after %s"):format(words.duration(news.took or 0))
  return title and ("%s: %s"):format(text, words.fit(title, 40)) or text
end

---What a user knows the session by, where there are several.
---@param done fun(title?: string) at once where nothing has to be read
local function title_of(ours, done)
  local words, session = require("claude-ide.sessions.phrases"), ours.session
  if #require("claude-ide.sessions.ours").list() < 2 then
    return done(nil)
  end
  require("claude-ide.sessions.catalogue").find(session.id, function(item)
    local summary = item and item.summary
    -- A name that was given elsewhere since is in the transcript alone.
    if summary and (summary.named or not session.name) then
      done(words.title(summary))
    else
      done(session.name and words.title(session) or nil)
    end
  end)
end

---@param silent boolean leave the message out
local function say(text, silent)
  for _, channel in ipairs(require("claude-ide.config").get().notify.channels) do
    if channel == "bell" then
      require("claude-ide.tty").bell()
    elseif channel == "osc9" then
      require("claude-ide.tty").notify(text)
    elseif not silent then
      require("claude-ide.ui.notice").info(text)
    end
  end
end

---@return boolean whether it is of a kind that is told
local function is_wanted(news)
  local options = require("claude-ide.config").get().notify
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

---The session as it is now, if it still is as the news said.
---@param before claude-ide.sessions.Ours
---@return claude-ide.sessions.Ours?
local function still(before)
  local was = before.session
  return vim.iter(require("claude-ide.sessions.ours").list()):find(function(ours)
    local is = ours.session
    return is.pid == was.pid
      and is.id == was.id
      and is.state.activity == was.state.activity
      and is.state.since == was.state.since
  end)
end

local function later(ours, news, delay)
  vim.defer_fn(function()
    local current = still(ours)
    if not current or not M.is_elsewhere(current) then
      return
    end
    local announced = news.kind == "waiting" and has_decision(current)
    local doubtful = news.kind == "waiting" and doubtful_for(current)
    if news.kind == "waiting" and is_answered(current) then
      return
    elseif doubtful then
      return later(ours, news, doubtful)
    elseif announced and focused then
      return
    elseif command_line_is_busy() and focused then
      return later(ours, news, RETRY_MS)
    end
    title_of(current, function(title)
      say(message(current, news, title), announced)
    end)
  end, delay)
end

---Says it, if it is worth it and the user is elsewhere in a moment.
---@param ours claude-ide.sessions.Ours
---@param news claude-ide.sessions.News
function M.consider(ours, news)
  if is_wanted(news) then
    later(ours, news, M.settle_ms)
  end
end

---Learns from now on whether the user looks at Neovim, and what they decide.
function M.attach()
  local group = vim.api.nvim_create_augroup("claude-ide.sessions.notify", { clear = true })
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = "ClaudeDiffClosed",
    callback = function(event)
      if event.data.client then
        decided[event.data.client] = require("claude-ide.clock").now()
      end
    end,
    desc = "Claude Code: know which waits are over",
  })
  vim.api.nvim_create_autocmd({ "FocusGained", "FocusLost" }, {
    group = group,
    callback = function(event)
      focused = event.event == "FocusGained"
    end,
    desc = "Claude Code: know whether you look at Neovim",
  })
end

return M
