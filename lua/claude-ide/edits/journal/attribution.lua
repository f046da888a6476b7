-- Who made a change between two checkpoints: a command of Claude's, others, or unknown. A command's result may name the files that it
-- changed (the CLI does so in auto mode and without permissions); otherwise the time of a file's last change decides.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local file = lazy("claude-ide.base.file")
local listed = lazy("claude-ide.base.listed")
local paths = lazy("claude-ide.base.path")

local M = {}

---How long after its call a command may still write.
local AFTER_MS = 1000

---@alias claude-ide.journal.Whose "claude"|"others"|"unknown"

---When a file changed. That of one that is gone, or was moved with a folder, is known of the folder around it.
---@param path string
---@param from claude-ide.journal.Checkpoint since then it has changed
---@return number? milliseconds since the epoch
local function changed_at(path, from)
  while paths.within(path, from.top) do
    local stat = vim.uv.fs_lstat(path)
    local at = stat and file.changed_at(stat)
    if at and at >= from.at - file.TICK_MS then
      return at
    end
    path = vim.fs.dirname(path)
  end
end

---The files that the results of commands name.
---@param ran claude-ide.sessions.CommandTime[]
---@return fun(real: string): boolean has
local function named(ran)
  local names = {} ---@type table<string, true>
  for _, time in ipairs(ran) do
    for _, name in ipairs(time.files or {}) do
      names[paths.real(name)] = true
    end
  end
  return function(real)
    while next(names) and real ~= "/" do
      if names[real] then
        return true
      end
      real = vim.fs.dirname(real) -- a folder is named that was moved
    end
    return false
  end
end

---@param ran? claude-ide.sessions.CommandTime[] those of the turn; nil: not known
---@param from claude-ide.journal.Checkpoint
---@param is_edited fun(path: string): boolean whether Claude's own tools have changed a file in the turn, or are about to
---@return fun(path: string): claude-ide.journal.Whose
---@return fun(real: string): boolean is_named whether a command since the checkpoint is known to have changed it
function M.judge(ran, from, is_edited)
  local first, later = math.huge, {} ---@type number, claude-ide.sessions.CommandTime[]
  for _, time in ipairs(ran or {}) do
    first = math.min(first, (time.made or time.start) - file.TICK_MS)
    later[#later + 1] = (not time["end"] or time["end"] >= from.at) and time or nil
  end
  local is_named = named(later)
  return function(path)
    local real = paths.real(path)
    local at = ran and not is_named(real) and changed_at(path, from)
    if not ran or not at then
      return "claude"
    elseif at < first then
      return "others" -- no command had begun
    end
    local is_within = vim.iter(later):any(function(time)
      return at >= time.start - file.TICK_MS and (not time["end"] or at <= time["end"] + AFTER_MS)
    end)
    -- A tool of Claude's hides when a command has changed the file before it.
    return (is_within or is_edited(path)) and "claude" or "unknown"
  end,
    is_named
end

---@type table<integer, table<string, true>> by turn and path
local unknown = {}

bus.on("turn_forgotten", function(turn)
  unknown[turn] = nil
end)

---Notes files that changed in a turn, by Claude or by others.
---@param turn integer
---@param files string[]
---@return string[] fresh those that were not noted before
function M.note_unknown(turn, files)
  local known = unknown[turn] or {}
  unknown[turn] = known
  local fresh = vim.tbl_filter(function(path)
    return not known[path]
  end, files)
  for _, path in ipairs(fresh) do
    known[path] = true
  end
  return fresh
end

---What is known of such files.
---@param files string[]
---@return string
function M.describe(files)
  local names = vim.tbl_map(vim.fs.basename, files)
  table.sort(names)
  return ("%s changed in Claude's turn after its commands, maybe by you"):format(listed(names))
end

---Files that changed in a turn, by Claude or by others: no review shows them, and no undo changes them.
---@param turn integer
---@return string[]
function M.unknown(turn)
  return vim.tbl_keys(unknown[turn] or {})
end

return M
