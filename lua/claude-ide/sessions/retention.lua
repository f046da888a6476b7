-- When the CLI deletes a session: `cleanupPeriodDays` (default 30) after the last write to its transcript. Measured (CLI 2.1.329): it
-- looks a few seconds after it starts, once a day, at the sessions of all projects, with the settings of its own project. While a file of
-- settings cannot be read, or has a number of days that is none (0, too), it deletes nothing.
local lazy = require("claude-ide.lazy")
local clock = lazy("claude-ide.base.clock")
local counted = lazy("claude-ide.base.counted")
local settings = lazy("claude-ide.sessions.settings")
local transport = lazy("claude-ide.sessions.transport")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local DEFAULT_DAYS = 30
local DAY = 24 * 60 * 60 * 1000
---Sessions that end sooner are announced.
local SOON_DAYS = 7

---@class claude-ide.sessions.Retention
---@field days? integer nil: nothing is deleted
---@field path? string the file that says so; nil: the default

---How long the sessions of a configuration folder stay. Reads the disk.
---@param config_dir string
---@return claude-ide.sessions.Retention
function M.of(config_dir)
  local found = { days = DEFAULT_DAYS } ---@type claude-ide.sessions.Retention
  for _, one in ipairs(settings.read(config_dir, workspace.folders()[1])) do
    local days = one.settings and one.settings.cleanupPeriodDays
    if not one.settings or days ~= nil and not (type(days) == "number" and days >= 1 and days % 1 == 0) then
      return { path = one.path }
    elseif days then
      found = {
        days = days --[[@as integer]],
        path = one.path,
      }
    end
  end
  return found
end

---A function that tells how many whole days a session stays; nil: nothing says that it goes within a week. It reads each folder's
---settings once.
---@return fun(item: { summary: claude-ide.sessions.Summary, live?: claude-ide.sessions.Live }): integer?
function M.days_left()
  local known = {} ---@type table<string, claude-ide.sessions.Retention>
  local now = clock.now()
  return function(item)
    local summary = item.summary
    if item.live or summary.kept or summary.file == "" then
      return nil
    end
    local dir = summary.config_dir or transport.config_dir()
    known[dir] = known[dir] or M.of(dir)
    local days = known[dir].days
    local left = days and math.floor((summary.updated - now) / DAY + days)
    return left and left < SOON_DAYS and math.max(left, 0) or nil
  end
end

---When a session expires: "today", "in 3 days".
---@param days_left integer
---@return string
function M.when(days_left)
  return days_left == 0 and "today" or "in " .. counted(days_left, "day")
end

return M
