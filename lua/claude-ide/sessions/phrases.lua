-- Formats ages, durations, sizes, states and titles of sessions. Pure, except for character widths and what the library does.

local lazy = require("claude-ide.lazy")
local native = lazy("claude-ide.library.native")
local width = lazy("claude-ide.base.width")

local M = {}

local SECOND = 1000
local MINUTE = 60 * SECOND

---An age, in at most four characters.
---@param milliseconds number without a fraction
---@return string
function M.age(milliseconds)
  return native.age(milliseconds) or ""
end

---A duration, rounded.
---@param milliseconds number
---@return string
function M.duration(milliseconds)
  local seconds = math.floor(milliseconds / SECOND + 0.5)
  if seconds < 60 then
    return ("%d s"):format(seconds)
  end
  local minutes = math.floor(milliseconds / MINUTE + 0.5)
  if minutes < 60 then
    return ("%d min"):format(minutes)
  end
  return ("%d h %d min"):format(math.floor(minutes / 60), minutes % 60)
end

---@param bytes integer
---@return string
function M.size(bytes)
  local units = { "B", "kB", "MB", "GB" }
  local at = 1
  local value = bytes + 0.0
  while value >= 1000 and at < #units do
    value, at = value / 1000, at + 1
  end
  return (at == 1 or value >= 10) and ("%.0f %s"):format(value, units[at])
    or ("%.1f %s"):format(value, units[at])
end

---Reasons of a wait, after "waiting: " and after "Claude waits for your ".
---@type table<string, { short: string, yours: string }>
local REASONS = {
  permission = { short = "permission", yours = "permission" },
  input = { short = "answer", yours = "answer" },
  dialog = { short = "dialog", yours = "choice in a dialog" },
}

---A state: "working", "waiting: permission", "idle".
---@param state claude-ide.sessions.State
---@return string
function M.activity(state)
  local reason = state.activity == "waiting" and REASONS[state.waiting_for] or nil
  return reason and ("waiting: %s"):format(reason.short) or state.activity
end

---States of sessions: of one by name, of several as counts.
---@param sessions claude-ide.sessions.Live[]
---@return string? nil: no sessions
function M.activities(sessions)
  if #sessions == 1 then
    return M.activity(sessions[1].state)
  end
  local counts, parts = {}, {}
  for _, session in ipairs(sessions) do
    counts[session.state.activity] = (counts[session.state.activity] or 0) + 1
  end
  for _, name in ipairs({ "waiting", "working", "idle" }) do
    parts[#parts + 1] = counts[name] and ("%d %s"):format(counts[name], name)
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

---@param waiting_for? string
---@return string
function M.waits(waiting_for)
  local reason = REASONS[waiting_for]
  return reason and ("waits for your %s"):format(reason.yours) or "waits for you"
end

---Replaces line breaks and control characters by blanks.
---@param text string
---@return string
function M.one_line(text)
  -- U+0080 to U+009F are control characters too.
  return vim.trim((text:gsub("\194[\128-\159]", " "):gsub("[%c%s]+", " ")))
end

---`one_line` for output of programs: also removes escape sequences.
---@param text string
---@return string
function M.plain_line(text)
  local plain = text:find("\27", 1, true) and native.plain_text(text) or text
  return M.one_line(plain)
end

---The display title of a session.
---@param session { title?: string, name?: string, id: string }
---@return string
function M.title(session)
  local title = session.title or session.name
  title = title and M.one_line(title) or ""
  return title ~= "" and title or "Session " .. session.id:sub(1, 8)
end

---The beginning of a text that fits into `cells` cells.
---@param text string
---@param cells integer
---@return string
function M.fit(text, cells)
  return width.cut(text, cells)
end

---The end of a text that fits, for paths.
---@param text string
---@param cells integer
---@return string
function M.fit_end(text, cells)
  if width.of(text) <= cells then
    return text
  end
  local count = vim.fn.strchars(text)
  local from = math.max(count - cells, 0)
  while from < count and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, from)) > cells - 1 do
    from = from + 1
  end
  return "…" .. vim.fn.strcharpart(text, from)
end

return M
