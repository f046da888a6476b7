-- A short text for a statusline. It is redrawn at every key, so the text is cached and only updated by events and two counters.

local lazy = require("claude-ide.lazy")
local bridge = lazy("claude-ide.terminal.bridge")
local bus = lazy("claude-ide.base.bus")
local counted = lazy("claude-ide.base.counted")
local ide_sessions = lazy("claude-ide.sessions")
local ide_status = lazy("claude-ide.status")
local limits = lazy("claude-ide.sessions.limits")
local modes = lazy("claude-ide.sessions.modes")
local own = lazy("claude-ide.terminal.own")
local phrases = lazy("claude-ide.sessions.phrases")
local requests = lazy("claude-ide.requests")

---@class claude-ide.statusline
local M = {}

local SEPARATOR = " · "

---@class claude-ide.statusline.Texts
---@field text string
---@field waiting string
---@field working string
---@field mode string
---@field context string
---@field limit string

---@type claude-ide.statusline.Texts?
local cached
---@type claude-ide.statusline.Texts? at the last redraw
local drawn
---@type integer?, boolean? values in the cached text
local mentions, selection
local watching = false

local function watch()
  watching = true
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("claude-ide.statusline", { clear = true }),
    pattern = "Claude*",
    callback = M.refresh,
    desc = "Claude Code: refresh the statusline's text",
  })
  bus.on("server_started", M.refresh)
  bus.on("server_stopped", M.refresh)
  bus.on("journal_changed", M.refresh)
  bus.on("requests_changed", M.refresh)
  bus.on("comments_changed", M.refresh)
  bus.on("limit_changed", M.refresh)
  bus.on("mode_changed", M.refresh)
end

---Values that change without an event, from loaded modules.
---@return integer? mentions
---@return boolean? selection
local function counters()
  local mention, switch =
    package.loaded["claude-ide.context.mention"], package.loaded["claude-ide.context.selection"]
  return mention and mention.pending(), switch and switch.is_enabled()
end

local function activity(status)
  local sessions = status.sessions
  if #sessions == 1 and #requests.pending() > 0 then
    -- The requests themselves tell what is asked.
    return sessions[1].state.activity
  end
  return #sessions > 0 and phrases.activities(sessions) or nil
end

local function chats()
  local chat = package.loaded["claude-ide.chat"]
  return type(chat) == "table" and chat.list() or {}
end

---@return string text "Claude" and its connection or state
local function head(status)
  local ready = #vim.tbl_filter(function(client)
    return client.state == "ready"
  end, status.clients)
  local doing = activity(status)
  if doing then
    return "Claude " .. doing
  elseif ready == 0 then
    return #chats() > 0 and "Claude" or "Claude not connected"
  end
  return ready > 1 and ("Claude %d"):format(ready) or "Claude"
end

---What the CLI calls its modes, where their names say it worse.
---@type table<string, string>
local MODES = { default = "manual", acceptEdits = "accept edits", bypassPermissions = "bypass permissions" }

---The session of the terminal, else the first one.
---@param status claude-ide.Status
---@return claude-ide.sessions.Live?
local function session_of(status)
  local terminals = package.loaded["claude-ide.terminal"]
  return type(terminals) == "table" and terminals.session() or status.sessions[1]
end

---@param status claude-ide.Status
---@return string "auto"; "": unknown
local function mode_of(status)
  local session = session_of(status)
  if not session then
    return ""
  end
  modes.attach()
  local chat = own.other(session.id)
  local mode = chat and chat.mode or modes.of(session.id) or ""
  return MODES[mode] or mode
end

---The parts in order; nil: omitted.
---@type (fun(status: claude-ide.Status): string?)[]
local PARTS = {
  head,
  function(status)
    local mode = #status.sessions == 1 and mode_of(status) or ""
    return mode ~= "" and mode or nil
  end,
  function()
    local waiting = requests.phrases()
    return #waiting > 0 and table.concat(waiting, SEPARATOR) or nil
  end,
  function(status)
    return status.review.files > 0 and ("%d to review"):format(status.review.files) or nil
  end,
  function(status)
    return status.comments > 0 and (counted(status.comments, "comment") .. " to send") or nil
  end,
  function(status)
    return status.mentions > 0 and ("%d queued"):format(status.mentions) or nil
  end,
  function(status)
    return status.running and not status.selection and "selection off" or nil
  end,
}

---@param status claude-ide.Status
local function whole(status)
  if not M.is_active() then
    return "Claude off"
  end
  local texts = {}
  for _, part in ipairs(PARTS) do
    texts[#texts + 1] = part(status)
  end
  return table.concat(texts, SEPARATOR)
end

---@param status claude-ide.Status
---@param name claude-ide.sessions.Activity
---@return string "2 working"; "": none
local function in_activity(status, name)
  local count = #vim.tbl_filter(function(session)
    return session.state.activity == name
  end, status.sessions)
  return count > 0 and ("%d %s"):format(count, name) or ""
end

---How full the contexts of sessions are, and the state's time at which that was read.
---@type table<string, { percent?: integer, at?: integer }>
local contexts = {}
---Whether any statusline shows it: it costs a list of sessions after each turn.
local is_context_shown = false

---Reads how full a session's context is, once a state.
---@param session claude-ide.sessions.Live
local function read_context(session)
  local known = contexts[session.id] or {}
  contexts[session.id] = known
  local at = session.state.since or 0
  if known.at == at then
    return
  end
  known.at = at
  ide_sessions.list({ folder = session.cwd }, function(summaries)
    local summary = vim.iter(summaries or {}):find(function(one)
      return one.id == session.id
    end)
    known.percent = summary and summary.context_percent or known.percent
    M.refresh()
  end)
end

---@param status claude-ide.Status
---@return string "34%"; "": unknown
local function context(status)
  local session = session_of(status)
  if not is_context_shown or not session then
    return ""
  end
  local told = bridge.usage(session.pid)
  if not told then
    read_context(session)
  end
  local percent = told and told.context or contexts[session.id] and contexts[session.id].percent
  return percent and ("%d%%"):format(percent) or ""
end

---@return claude-ide.statusline.Texts
local function build()
  local status = ide_status.get()
  return {
    text = whole(status),
    waiting = in_activity(status, "waiting"),
    working = in_activity(status, "working"),
    mode = mode_of(status),
    context = context(status),
    limit = limits.near() or "",
  }
end

local function current()
  if not watching then
    watch()
  end
  local mentions_now, selection_now = counters()
  if not cached or mentions_now ~= mentions or selection_now ~= selection then
    mentions, selection = mentions_now, selection_now
    cached = build()
  end
  return cached
end

local redraw_soon = require("claude-ide.base.soon")(function()
  local texts = current()
  if not vim.deep_equal(texts, drawn) then
    drawn = texts
    vim.cmd("redrawstatus!")
  end
end)

---Updates the text, and redraws if it has changed.
function M.refresh()
  cached = nil
  redraw_soon()
end

---For parts about the terminal's session: it may be another one.
local follow_terminal = require("claude-ide.base.once")(function()
  bus.on("terminal_used", M.refresh)
  vim.api.nvim_create_autocmd("TabEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.statusline.terminal", { clear = true }),
    callback = M.refresh,
    desc = "Claude Code: show the tab page's terminal in the statusline",
  })
end)

---"Claude idle", "Claude working", "Claude waiting: permission"; "Claude" if the state is unknown, "Claude not connected" without a
---CLI; then the permission mode of the only session, if it is known: "auto"; then what needs attention: "2 diffs", "3 to review" (changed
---files), "1 queued", "selection off".
---@return string
function M.text()
  return current().text
end

---@return string "1 waiting": sessions of this Neovim that wait for the user; "": none
function M.waiting()
  return current().waiting
end

---@return string "2 working": sessions that work; "": none
function M.working()
  return current().working
end

---@return string "auto": the permission mode of the terminal's session, else of the first one; "": unknown
function M.mode()
  follow_terminal()
  return current().mode
end

---@return string "34%": how full the context of the terminal's session is, else of the first one; "": unknown
function M.context()
  if not is_context_shown then
    is_context_shown = true
    follow_terminal()
    bus.on("session_changed", function(change)
      contexts[change.session.state.activity == "gone" and change.session.id or change.previous or ""] = nil
    end)
    M.refresh()
  end
  return current().context
end

---@return string "93% of the 5 hours' limit until 14:00": the account's limit while it is near, if a session was told; "": far, or unknown
function M.limit()
  return current().limit
end

---Whether the plugin is in use, for statuslines that hide it otherwise.
---@return boolean
function M.is_active()
  local server = package.loaded["claude-ide.server"]
  return type(server) == "table" and server.is_running() or #chats() > 0
end

return M
