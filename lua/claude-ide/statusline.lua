-- One short text for a statusline. It is redrawn at every key, so the text is kept and made anew only after an event.

local M = {}

---@type string?
local cached
local watching = false

local function watch()
  watching = true
  local group = vim.api.nvim_create_augroup("claude-ide.statusline", { clear = true })
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = "Claude*",
    callback = M.refresh,
    desc = "Claude Code: the statusline's text is out of date",
  })
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
  cached = cached or build()
  return cached
end

---Whether anything of the plugin is in use, for a statusline that should stay empty otherwise.
---@return boolean
function M.is_active()
  local server = package.loaded["claude-ide.server"]
  return type(server) == "table" and server.is_running()
end

return M
