-- A short text for a statusline. It is redrawn at every key, so the text is cached and only updated by events and two counters.

local M = {}

local SEPARATOR = " · "

---@type string?
local cached
---@type string? text at the last redraw
local drawn
---@type integer?, boolean? values in the cached text
local mentions, selection
local watching = false
local scheduled = false

local function watch()
  watching = true
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("claude-ide.statusline", { clear = true }),
    pattern = "Claude*",
    callback = M.refresh,
    desc = "Claude Code: the statusline's text is out of date",
  })
  require("claude-ide.bus").on("server_started", M.refresh)
  require("claude-ide.bus").on("server_stopped", M.refresh)
  require("claude-ide.bus").on("journal_changed", M.refresh)
  require("claude-ide.bus").on("decisions_changed", M.refresh)
end

---Values that change without an event, from loaded modules.
---@return integer? mentions
---@return boolean? selection
local function counters()
  local mention, switch = package.loaded["claude-ide.mention"], package.loaded["claude-ide.selection"]
  return mention and mention.pending(), switch and switch.is_enabled()
end

local function activity(status)
  local sessions = status.sessions
  if #sessions == 1 and #require("claude-ide.decisions").pending() > 0 then
    -- The requests themselves tell what is asked.
    return sessions[1].state.activity
  end
  return #sessions > 0 and require("claude-ide.sessions.phrases").activities(sessions) or nil
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

---The parts in order; nil: omitted.
---@type (fun(status: claude-ide.Status): string?)[]
local PARTS = {
  head,
  function()
    local waiting = require("claude-ide.decisions").phrases()
    return #waiting > 0 and table.concat(waiting, SEPARATOR) or nil
  end,
  function(status)
    return status.review.files > 0 and ("%d to review"):format(status.review.files) or nil
  end,
  function(status)
    return status.mentions > 0 and ("%d queued"):format(status.mentions) or nil
  end,
  function(status)
    return status.running and not status.selection and "selection off" or nil
  end,
}

local function build()
  local status = require("claude-ide.status").get()
  if not M.is_active() then
    return "Claude off"
  end
  local texts = {}
  for _, part in ipairs(PARTS) do
    texts[#texts + 1] = part(status)
  end
  return table.concat(texts, SEPARATOR)
end

---Updates the text, and redraws if it has changed.
function M.refresh()
  cached = nil
  if scheduled then
    return
  end
  scheduled = true
  vim.schedule(function()
    scheduled = false
    local text = M.text()
    if text ~= drawn then
      drawn = text
      vim.cmd("redrawstatus!")
    end
  end)
end

---"Claude idle", "Claude working", "Claude waiting: permission"; "Claude" if the state is unknown, "Claude not connected" without a
---CLI; then what needs attention: "2 diffs", "3 to review" (changed files), "1 queued", "selection off".
---@return string
function M.text()
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

---Whether the plugin is in use, for statuslines that hide it otherwise.
---@return boolean
function M.is_active()
  local server = package.loaded["claude-ide.server"]
  return type(server) == "table" and server.is_running() or #chats() > 0
end

return M
