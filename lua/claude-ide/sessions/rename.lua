-- Renames a session like `/rename` of the CLI. The library writes the title (crates/session/src/title.rs).

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local sessions = lazy("claude-ide.sessions")

local M = {}

---The CLI's limit.
local MAX_CHARACTERS = 200

---Normalises a title: one line, no invisible characters, within the CLI's limit.
---@param text string
---@return string? title nil: empty
function M.clean(text)
  local title = phrases.one_line(native.typed_text(text) or "")
  title = vim.trim(vim.fn.strcharpart(title, 0, MAX_CHARACTERS))
  return title ~= "" and title or nil
end

local function take(item, text)
  local title = M.clean(text)
  if not title then
    return notice.error("A title needs at least one visible character.")
  end
  sessions.rename(item.summary, title, catalogue.running(item.summary.id) ~= nil, function(_, err)
    if err then
      log.warn("%s cannot be renamed: %s", item.summary.file, err)
      return notice.error("The session cannot be renamed: " .. err)
    end
    bus.emit("session_renamed", item.summary.id)
    notice.info(
      ("Renamed “%s” to “%s”"):format(
        phrases.fit(phrases.title(item.summary), 30),
        phrases.fit(title, 30)
      )
    )
  end)
end

---Renames a session; asks for a title if none is given.
---@param item claude-ide.sessions.Item
---@param title? string
function M.run(item, title)
  if title then
    return take(item, title)
  end
  vim.ui.input({ prompt = "New title: ", default = phrases.title(item.summary) }, function(text)
    if text then
      take(item, text)
    end
  end)
end

return M
