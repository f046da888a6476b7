-- How near the usage limits of accounts are, as chats and our mod inside CLIs were told last.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local transport = lazy("claude-ide.sessions.transport")

local M = {}

---How long a limit without a time of its reset is believed.
local UNKNOWN_S = 3600

---@class claude-ide.sessions.Limit
---@field words string "93% of the 5 hours' limit"
---@field resets? integer seconds since the epoch

---By the account's configuration folder.
---@type table<string, { limit: claude-ide.sessions.Limit, at: integer }>
local near = {}

---@param limit claude-ide.sessions.Limit
---@return string? words with the time until which it holds; nil: that is over
function M.words(limit)
  if not limit.resets then
    return limit.words
  elseif limit.resets >= os.time() then
    return ("%s until %s"):format(limit.words, os.date("%H:%M", limit.resets))
  end
end

---Takes what a session of an account was told.
---@param config_dir? string default: the usual one
---@param limit? claude-ide.sessions.Limit nil: none is near
function M.tell(config_dir, limit)
  near[config_dir or transport.config_dir()] = limit and { limit = limit, at = os.time() }
  bus.emit("limit_changed")
end

---A limit that is near.
---@return string? words "93% of the 5 hours' limit until 14:00"
function M.near()
  for _, told in vim.spairs(near) do
    local words = M.words(told.limit)
    if words and (told.limit.resets or os.time() - told.at < UNKNOWN_S) then
      return words
    end
  end
end

return M
