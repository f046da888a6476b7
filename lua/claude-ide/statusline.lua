-- One short text for a statusline. It is redrawn at every key, so the text is kept and made anew only when an event or
-- one of three counters says so.

local M = {}

---@type string?
local cached
---@type integer?, integer?, boolean? what the cached text says
local diffs, mentions, selection
local watching = false

local function watch()
  watching = true
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("claude-ide.statusline", { clear = true }),
    pattern = "Claude*",
    callback = M.refresh,
    desc = "Claude Code: the statusline's text is out of date",
  })
  local server = require("claude-ide.server")
  server.on("started", M.refresh)
  server.on("stopped", M.refresh)
end

---What changes without an event, from modules that are in use.
---@return integer? diffs
---@return integer? mentions
---@return boolean? selection
local function counters()
  local loaded = package.loaded
  local diff, mention = loaded["claude-ide.diff"], loaded["claude-ide.mention"]
  local switch = loaded["claude-ide.selection"]
  return diff and diff.count(), mention and mention.pending(), switch and switch.is_enabled()
end

---@return string
local function build()
  local status = require("claude-ide").status()
  if not status.running then
    return "Claude off"
  end
  local ready = #vim.tbl_filter(function(client)
    return client.state == "ready"
  end, status.clients)
  local parts = { "Claude" }
  if ready == 0 then
    parts[#parts + 1] = "waiting"
  elseif ready > 1 then
    parts[#parts + 1] = tostring(ready)
  end
  if status.diffs > 0 then
    parts[#parts + 1] = ("%d to review"):format(status.diffs)
  end
  if status.mentions > 0 then
    parts[#parts + 1] = ("%d queued"):format(status.mentions)
  end
  if not status.selection then
    parts[#parts + 1] = "selection off"
  end
  return table.concat(parts, " ")
end

---Makes the text anew and redraws.
function M.refresh()
  cached = nil
  vim.schedule(function()
    vim.cmd.redrawstatus()
  end)
end

---"Claude" with a client connected, "Claude waiting" without one, then what needs you: "2 to review", "1 queued",
---"selection off".
---@return string
function M.text()
  if not watching then
    watch()
  end
  local diffs_now, mentions_now, selection_now = counters()
  if not cached or diffs_now ~= diffs or mentions_now ~= mentions or selection_now ~= selection then
    diffs, mentions, selection = diffs_now, mentions_now, selection_now
    cached = build()
  end
  return cached
end

---Whether anything of the plugin is in use, for a statusline that should stay empty otherwise.
---@return boolean
function M.is_active()
  local server = package.loaded["claude-ide.server"]
  return type(server) == "table" and server.is_running()
end

return M
